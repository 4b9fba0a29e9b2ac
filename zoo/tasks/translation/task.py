"""Translation: the network encodes a source and writes a target token by token."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, cast

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import Metric

from zoo.core.batch import Padded, batches_of_like_length, decoder_pair
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec
from zoo.decoding import Hypothesis
from zoo.kernels.noise import keyed
from zoo.metrics import (
    BLEU_ITEMS,
    BLEU_TOK_LC_ITEMS,
    CHRF_ITEMS,
    MATCH_ITEMS,
    AlignmentAccuracy,
    AlignmentEntropy,
    AlignmentSharpness,
    Bleu,
    Chrf,
    CorpusScore,
    Coverage,
    ExactMatch,
    Measure,
    NameCoverage,
    NumberCoverage,
    Perplexity,
    TokenizedLowercasedBleu,
    bleu_by_source_words,
    coverage_metrics,
    text_metrics,
)
from zoo.tasks.exploration import Answer
from zoo.tasks.head_maps import HeadMaps
from zoo.tasks.rules import Configured
from zoo.tasks.task import Scores
from zoo.tasks.translation.batch import TranslationBatch
from zoo.tasks.translation.predictor import Translator
from zoo.tasks.translation.rules import absent_metrics, unknown_words_can_be_replaced
from zoo.tasks.translation.translation import Translation
from zoo.tasks.translation.unknown_words import copied_words
from zoo.tasks.writing import ReinforceParts, Search, Writer, WritingTask


class EncoderDecoder(Writer, Protocol):
    """The network of the task.

    One with several heads also has `attention_maps(source, inputs)`, see `zoo/networks/transformer.py`.
    """

    def encode(self, source: Padded) -> Any:
        """Everything that depends on the source alone."""


_BATCH_TOKENS = 4096  # the most source tokens, padding included, in a batch, which bounds the memory


class TranslationScores(Scores):
    """The metrics of one split.

    Args:
        spec: the data; a side without a language is not scored as language.
    """

    def __init__(self, spec: DataSpec) -> None:
        super().__init__()
        source, target = spec.text("source").language, spec.text("target").language
        self.text = nn.ModuleDict(text_metrics(target))
        self.coverage = nn.ModuleDict(coverage_metrics() if source and target else {})
        self.teacher_forced, self.alignment_accuracy = Perplexity(), AlignmentAccuracy()
        self.alignment_entropy, self.alignment_sharpness = AlignmentEntropy(), AlignmentSharpness()

    @property
    def signatures(self) -> dict[str, str]:
        """See `Scores`: sacreBLEU's signatures, and the numbers of items of coverages."""
        metrics = {**self.named, **self.coverage}
        return {
            name: metric.signature
            for name, metric in metrics.items()
            if isinstance(metric, CorpusScore | Coverage)
        }

    @property
    def named(self) -> dict[str, Metric]:
        """The metrics of text, by name."""
        return {name: cast(Metric, metric) for name, metric in self.text.items()}

    def update_attention(self, hypotheses: Sequence[Hypothesis], source: Padded) -> None:
        """Adds the attention weights of a batch's hypotheses, where there are any."""
        maps = [hypothesis.weights for hypothesis in hypotheses if hypothesis.weights is not None]
        if maps:
            keys = source.lengths.cpu().repeat_interleave(torch.tensor([len(rows) for rows in maps]))
            rows = torch.cat(maps)
            self.alignment_entropy.update(rows, keys)
            self.alignment_sharpness.update(rows, keys)

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`; metrics of attention only where there were weights."""
        values = {name: metric.compute() for name, metric in self.named.items()}
        covered = {name: cast(Metric, metric).compute() for name, metric in self.coverage.items()}
        values |= {name: value for name, value in covered.items() if not value.isnan()}
        values |= {f"tf_{name}": value for name, value in self.teacher_forced.compute().items()}
        if self.alignment_accuracy.update_called:
            values["alignment_accuracy"] = self.alignment_accuracy.compute()
        if self.alignment_entropy.update_called:
            entropies = self.alignment_entropy.compute()
            values |= {f"alignment_{name}": value for name, value in entropies.items()}
            values["alignment_sharpness"] = self.alignment_sharpness.compute()
        return values


class TranslationTask(WritingTask):
    """Translates sentences, see `WritingTask`, which describes the other arguments.

    Args:
        network: built for `spec`.
        spec: the data's vocabularies.
        replace_unknown: lets the search write `<unk>`, and replaces it by the source word with the largest
            attention weight (Luong et al. 2015, section 4.1); for vocabularies of whole words. Otherwise no
            search writes `<unk>`; those of the paper leave it in the text.

    Raises:
        ValueError: a number is out of range.
    """

    network: EncoderDecoder
    batch_type = TranslationBatch
    noun, unit = "sentences", "tokens"
    predictor = Translator
    rules = (unknown_words_can_be_replaced,)
    metrics: ClassVar = {
        "bleu": Measure(Bleu, better="max", digits=1, beside="bleu_tok_lc", watched=2, items=BLEU_ITEMS),
        "bleu_tok_lc": Measure(
            TokenizedLowercasedBleu, better="max", digits=1, headline=True, items=BLEU_TOK_LC_ITEMS
        ),
        "chrf": Measure(
            Chrf, better="max", digits=1, role="support", beside="bleu_tok_lc", watched=1, items=CHRF_ITEMS
        ),
        "tf_perplexity": Measure(
            Perplexity, better="min", digits=1, role="support", beside="bleu_tok_lc", watched=4
        ),
        "exact_match": Measure(
            ExactMatch, better="max", headline=True, watched=3, items=MATCH_ITEMS, share=True
        ),
        "alignment_accuracy": Measure(AlignmentAccuracy, better="max", role="attention", share=True),
        "alignment_entropy": Measure(AlignmentEntropy, better=None, role="detail"),
        "alignment_normalised_entropy": Measure(AlignmentEntropy, better=None, role="detail"),
        "alignment_sharpness": Measure(AlignmentSharpness, better=None, role="detail"),
        "number_coverage": Measure(NumberCoverage, better="max", role="detail", share=True),
        "name_coverage": Measure(NameCoverage, better="max", role="detail", share=True),
        "tf_loss": Measure(Perplexity, better="min", role="detail"),
    }

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return absent_metrics(configured, cls.metrics)

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        decoding: Search,
        label_smoothing: float,
        reinforce: ReinforceParts | None,
        monitor: str,
        replace_unknown: bool = False,
    ) -> None:
        super().__init__(
            network=network,
            target=spec.text("target"),
            optimizer=optimizer,
            scheduler=scheduler,
            decoding=decoding,
            label_smoothing=label_smoothing,
            reinforce=reinforce,
            monitor=monitor,
        )
        self.spec, self.source_codec = spec, TextCodec(spec.text("source"))
        self.replace_unknown = replace_unknown

    def loss_of(self, batch: TranslationBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Task`: cross-entropy per real token, and REINFORCE where readings are sampled."""
        inputs, labels = decoder_pair(batch.target)
        return self._loss(self.network.decode(self.network.encode(batch.source), inputs), labels)

    # Evaluation

    def new_scores(self, split: str) -> TranslationScores:
        """See `Task`."""
        return TranslationScores(self.spec)

    def _evaluate(self, split: str, batch: TranslationBatch) -> None:
        scores = cast(TranslationScores, self.scores[split])
        # As long as in training, with BOS: some networks read no more. What is scored below stays whole.
        inputs, labels = decoder_pair(batch.target.beginning(self.target.maximum_length + 1))
        memory = self.network.encode(batch.source)
        nll = self._cross_entropy(self.network.decode(memory, inputs).features, labels)
        scores.teacher_forced.update(nll, labels.lengths.sum())
        best = [hypotheses[0] for hypotheses in self._search(self._search_of(split), batch.source, memory)]
        texts = [
            self._text(hypothesis, raw, length)
            for hypothesis, raw, length in zip(
                best, batch.source_text, batch.source.lengths.tolist(), strict=True
            )
        ]
        references = [[reference] for reference in batch.target_text]
        for metric in scores.named.values():
            metric.update(texts, references)
        for coverage in scores.coverage.values():
            cast(Coverage, coverage).update(texts, references, batch.source_text)
        scores.update_attention(best, batch.source)
        if batch.alignment is not None:
            for hypothesis, gold in zip(best, batch.alignment, strict=True):
                if hypothesis.weights is not None:
                    scores.alignment_accuracy.update(hypothesis.weights, gold)
        self._keep_predictions(
            split,
            batch.index,
            input=batch.source_text,
            references=references,
            prediction=texts,
            score=[hypothesis.score for hypothesis in best],
            finished=[hypothesis.finished for hypothesis in best],
        )

    def details(self) -> dict[str, Any]:
        """See `Task`; of a language BLEU by the length of the source."""
        tested, language = self.predictions.get("test"), self.target.language
        return {"bleu_by_source_words": bleu_by_source_words(tested, language)} if tested and language else {}

    # Search

    def _search(
        self, search: Search, source: Padded, memory: Any, *, weights: bool = True
    ) -> list[list[Hypothesis]]:
        """Limits each translation by the length of its own source, so that the batch changes nothing."""
        return self._write(
            search,
            memory,
            (2 * source.lengths + 10).clamp(max=self.target.maximum_length),
            weights=weights or self.replace_unknown,
            write_unknown=self.replace_unknown,
        )

    @torch.no_grad()  # in inference mode autocast would cast all weights again at every step
    def translate(
        self,
        texts: list[str],
        search: Search | None = None,
        batch_size: int = 64,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Translation]]:
        """Translates raw sentences, in batches of similar lengths; each sentence's translations best first.

        Of a sentence that is too long for the model only the beginning is read, see `Translation.unread`.

        Args:
            texts: raw sentences.
            search: the configured one by default.
            batch_size: the most sentences in a batch; fewer where they are long.
            weights: whether translations keep attention weights, which need much memory for many sentences.
            progress: called after each batch with its number of sentences.
        """
        read = [self.source_codec.encode_beginning(text) for text in texts]
        found: dict[int, list[Translation]] = {}
        for numbers in batches_of_like_length([len(ids) for ids, _ in read], batch_size, _BATCH_TOKENS):
            source = self._pad(self.source_codec, [read[number][0] for number in numbers])
            with keyed(torch.zeros_like(source.lengths)):  # so that answers repeat
                memory = self.network.encode(source)
                hypotheses = self._search(search or self.decoding, source, memory, weights=weights)
            for number, candidates in zip(numbers, hypotheses, strict=True):
                found[number] = [
                    self._describe(texts[number], *read[number], candidate, weights=weights)
                    for candidate in candidates
                ]
            if progress is not None:
                progress(len(numbers))
        return [found[number] for number in range(len(texts))]

    @torch.no_grad()
    def attention_maps(
        self, texts: Sequence[str], translations: Sequence[Translation]
    ) -> list[dict[str, HeadMaps]]:
        """The attention weights of all heads in translations, in one pass.

        Args:
            texts: raw sentences.
            translations: one of each, as `translate` returned it.

        Returns:
            Each sentence's `encoder`, `decoder` and `cross` attention; nothing for a network without heads.
        """
        find = getattr(self.network, "attention_maps", None)
        if find is None or not texts:
            return [{} for _ in texts]
        sources = [self.source_codec.encode_beginning(text)[0] for text in texts]
        inputs = self._pad(self.target_codec, [[self.target.bos, *one.ids[:-1]] for one in translations])
        maps = find(self._pad(self.source_codec, sources), inputs)
        found = []
        for number, translation in enumerate(translations):
            source, target = translation.source_tokens, translation.tokens
            read = self.target_codec.tokens(inputs.ids[number, : len(target)].tolist())
            sides = {"encoder": (source, source), "decoder": (target, read), "cross": (target, source)}
            found.append(
                {
                    kind: HeadMaps(
                        torch.stack([layer[number, :, : len(queries), : len(keys)] for layer in maps[kind]])
                        .float()
                        .cpu(),
                        queries,
                        keys,
                    )
                    for kind, (queries, keys) in sides.items()
                    if kind in maps
                }
            )
        return found

    @torch.no_grad()
    def candidates(self, text: str, translation: Translation) -> list[list[Answer]]:
        """What might have stood in the place of each token of a translation, see `candidates`.

        Args:
            text: a raw sentence.
            translation: as `translate` returned it.
        """
        source = self._pad(self.source_codec, [self.source_codec.encode_beginning(text)[0]])
        inputs = self._pad(self.target_codec, [[self.target.bos, *translation.ids[:-1]]])
        with keyed(torch.zeros_like(source.lengths)):
            return self._candidates(self.network.decode(self.network.encode(source), inputs), translation.ids)

    def _pad(self, codec: TextCodec, ids: list[list[int]]) -> Padded:
        padded: Padded = move_data_to_device(codec.pad(ids), self.device)
        return padded

    def _text(self, hypothesis: Hypothesis, raw: str, length: int) -> str:
        """The text of a hypothesis; the model read `length` tokens of the raw source."""
        ids, unknown = hypothesis.ids, self.target.unk
        if not self.replace_unknown or hypothesis.weights is None or unknown not in ids:
            return self.target_codec.decode(ids)
        words = self.source_codec.words(raw)[: length - 1]  # the last is EOS, also of a source that was cut
        return self.target_codec.decode_with(ids, copied_words(ids, unknown, hypothesis.weights, words))

    def _describe(
        self, raw: str, source: list[int], unread: int, hypothesis: Hypothesis, *, weights: bool
    ) -> Translation:
        kept = hypothesis.weights if weights else None
        return Translation(
            text=self._text(hypothesis, raw, len(source)),
            score=hypothesis.score,
            finished=hypothesis.finished,
            source_tokens=self.source_codec.tokens(source),
            tokens=self.target_codec.tokens(hypothesis.ids),
            weights=None if kept is None else kept[:, : len(source)].float(),
            unread=unread,
            ids=hypothesis.ids,
        )
