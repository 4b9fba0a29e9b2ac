"""Masked language modelling: the network names masked tokens, and says whether one text follows another."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, cast

import torch
import torch.nn.functional as F
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import MeanMetric

from zoo.core.batch import Padded, batches_of_like_length
from zoo.core.spec import DataSpec
from zoo.core.text import TextCodec
from zoo.kernels import linear_cross_entropy
from zoo.kernels.noise import keyed
from zoo.metrics import Control, Measure
from zoo.metrics.perplexity import Perplexity
from zoo.networks.bert import Pretrained
from zoo.tasks.head_maps import HeadMaps
from zoo.tasks.masked_language_modelling.batch import MaskedBatch
from zoo.tasks.masked_language_modelling.filling import Candidate, Filled, MaskedText, read_masks
from zoo.tasks.masked_language_modelling.predictor import MaskFiller
from zoo.tasks.masked_language_modelling.scores import MaskedAccuracy, MaskedLoss, MaskedScores
from zoo.tasks.rules import Configured
from zoo.tasks.task import Task

_TEXTS, _TOKENS = 64, 16_384
"""The most texts, and the most tokens with padding, whose masks are filled at once."""

_MASKED = "15% of the tokens of a text are chosen: 80% of these masked, 10% random, 10% as they were"
_READ = "{kind} of at most {longest} tokens, a vocabulary of {vocabulary}"
"""Signatures of the metrics."""


class MaskedNetwork(Protocol):
    """The network of the task.

    Attributes:
        output: makes scores of the vocabulary of its features.
    """

    output: nn.Linear

    def __call__(
        self, text: Padded, segments: Tensor, places: Tensor, *, weights: bool = False
    ) -> Pretrained:
        """See `zoo.networks.bert.BertPretraining`."""


class MaskedLanguageModelling(Task):
    """Trains by the cross-entropy of chosen tokens, plus that of the guess whether texts follow each other.

    The loss is the sum of both means (Devlin et al. 2019, section A.2). Each pair counts in the second one
    as its chosen tokens do in the first, so that a batch that is cut into parts has the same loss.

    Args:
        network: built for `spec`.
        spec: the text; and the field `follows` where texts are pairs.
        optimizer: see `Task`.
        scheduler: see `Task`.
        monitor: see `Task`.
    """

    batch_type = MaskedBatch
    noun, unit = "texts", "tokens"
    predictor = MaskFiller
    controls: ClassVar[dict[str, Control]] = {}
    metrics: ClassVar = {
        "loss": Measure(MaskedLoss, better="min", digits=3, headline=True, watched=1),
        "perplexity": Measure(Perplexity, better="min", digits=1, role="support"),
        "accuracy": Measure(MaskedAccuracy, better="max", digits=4, watched=2, share=True),
        "next_sentence_accuracy": Measure(MeanMetric, better="max", digits=4, watched=3, share=True),
        "next_sentence_loss": Measure(MeanMetric, better="min", digits=3, role="support"),
    }

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        if configured.config["data"].get("next_sentence", True):
            return {}
        of_pairs = [name for name in cls.metrics if name.startswith("next_sentence")]
        return dict.fromkeys(of_pairs, "data.next_sentence=false makes no pairs")

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        self.spec, self.text = spec, spec.text("text")
        self.pairs = "follows" in spec.fields
        self.codec = TextCodec(self.text)
        self.network: MaskedNetwork = network  # type: ignore[assignment]

    def loss_of(self, batch: MaskedBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Task`."""
        found = self.network(batch.text, batch.segments, batch.places)
        # No label is PAD, so every chosen token counts.
        total = linear_cross_entropy(found.features, self.network.output, batch.labels, padding=self.text.pad)
        loss = total / len(batch.labels)
        terms = {"masked": loss}
        if found.follows is not None and batch.follows is not None:
            nll = F.cross_entropy(found.follows.float(), batch.follows, reduction="none")
            row = batch.places.div(batch.text.ids.shape[1], rounding_mode="floor")
            terms["next_sentence"] = nll[row].mean()
            loss = loss + terms["next_sentence"]
        return loss, terms

    def new_scores(self, split: str) -> MaskedScores:
        """See `Task`."""
        kind = "pairs" if self.pairs else "single texts"
        read = _READ.format(kind=kind, longest=self.text.maximum_length, vocabulary=self.text.size)
        return MaskedScores(_MASKED, read, pairs=self.pairs)

    def _evaluate(self, split: str, batch: MaskedBatch) -> None:
        scores = cast(MaskedScores, self.scores[split])
        found = self.network(batch.text, batch.segments, batch.places)
        logits = self.network.output(found.features).float()
        nll = F.cross_entropy(logits, batch.labels, reduction="none")
        guessed = logits.argmax(-1)
        scores.update(nll, guessed == batch.labels)
        if found.follows is not None and batch.follows is not None:
            scores.update_pairs(
                F.cross_entropy(found.follows.float(), batch.follows, reduction="none"),
                found.follows.argmax(-1) == batch.follows,
            )
        row = batch.places.div(batch.text.ids.shape[1], rounding_mode="floor")
        counts = row.bincount(minlength=len(batch.index))
        per_text = torch.zeros_like(counts, dtype=torch.float32).index_add(0, row, -nll) / counts
        true, filled = (self._with(batch, tokens) for tokens in (batch.labels, guessed))
        self._keep_predictions(
            split,
            batch.index,
            input=self._shown(batch, batch.text.ids),
            references=[[text] for text in self._shown(batch, true)],
            prediction=self._shown(batch, filled),
            score=per_text.tolist(),
            finished=[True] * len(batch.index),
        )

    @staticmethod
    def _with(batch: MaskedBatch, tokens: Tensor) -> Tensor:
        """The ids of a batch with these tokens `(M,)` at the chosen places."""
        return batch.text.ids.flatten().scatter(0, batch.places, tokens).view_as(batch.text.ids)

    def _shown(self, batch: MaskedBatch, ids: Tensor) -> list[str]:
        """The tokens of each text, special ones too."""
        lengths = batch.text.lengths.tolist()
        return [
            " ".join(self.codec.tokens(row[:length]))
            for row, length in zip(ids.tolist(), lengths, strict=True)
        ]

    # Prediction

    @torch.no_grad()
    def fill(
        self, texts: Sequence[str], nbest: int, *, progress: Callable[[int], object] | None = None
    ) -> list[list[Filled]]:
        """Raw texts that are not blank with their masks filled, the likeliest tokens first.

        Args:
            texts: with `[MASK]` or `<mask>` in them.
            nbest: how many candidates of each mask.
            progress: called after each batch with its number of texts.
        """
        read = [read_masks(text, self.codec) for text in texts]
        found: dict[int, list[Filled]] = {}
        for numbers in batches_of_like_length([len(one.ids) for one in read], _TEXTS, _TOKENS):
            text = move_data_to_device(self.codec.pad([read[number].ids for number in numbers]), self.device)
            size = text.ids.shape[1]
            places = [row * size + one for row, number in enumerate(numbers) for one in read[number].places]
            where = torch.tensor(places, dtype=torch.int64, device=self.device)
            with keyed(torch.zeros_like(text.lengths)):  # so that answers repeat
                network = self.network(text, torch.zeros_like(text.ids), where)
            likely = self._without_special(self.network.output(network.features).float()).softmax(-1)
            best = likely.topk(min(nbest, likely.shape[-1] - len(self.text.special)))
            ranked = zip(best.values.tolist(), best.indices.tolist(), strict=True)
            for number in numbers:
                candidates = [
                    [
                        Candidate(self.codec.tokens([token])[0], probability, token)
                        for probability, token in zip(*next(ranked), strict=True)
                    ]
                    for _ in read[number].places
                ]
                found[number] = self._filled(read[number], candidates)
            if progress is not None:
                progress(len(numbers))
        return [found[number] for number in range(len(texts))]

    def _without_special(self, logits: Tensor) -> Tensor:
        """No special token is an answer."""
        special = torch.tensor(list(self.text.special.values()), device=logits.device)
        return logits.index_fill(-1, special, -torch.inf)

    def _filled(self, text: MaskedText, candidates: list[list[Candidate]]) -> list[Filled]:
        if not candidates:
            return [Filled(self.codec.decode(text.ids), unread=text.unread, unknown=text.unknown)]
        answers = []
        for chosen in zip(*candidates, strict=True):
            ids = list(text.ids)
            for place, candidate in zip(text.places, chosen, strict=True):
                ids[place] = candidate.id
            answers.append(Filled(self.codec.decode(ids), chosen, candidates, text.unread, text.unknown))
        return answers

    def masks(self, text: str) -> list[bool]:
        """Of each token of a raw text that is read, whether it is a mask."""
        read = read_masks(text, self.codec)
        return [place in read.places for place in range(len(read.ids))]

    @torch.no_grad()
    def attention_maps(self, text: str) -> HeadMaps:
        """The weights of all heads of all layers in one raw text."""
        read = read_masks(text, self.codec)
        padded = move_data_to_device(self.codec.pad([read.ids]), self.device)
        nowhere = torch.zeros(0, dtype=torch.int64, device=self.device)
        found = self.network(padded, torch.zeros_like(padded.ids), nowhere, weights=True)
        layers = [layer[0].float().cpu() for layer in found.weights if layer is not None]
        names = self.codec.tokens(read.ids)
        return HeadMaps(torch.stack(layers), names, names)
