"""Captioning: the network looks at an image and writes what it shows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, ClassVar, Protocol, cast

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import MeanMetric

from zoo.attention import Selection, doubly_stochastic_penalty
from zoo.core.batch import Padded, TrueCaptions, decoder_pair
from zoo.core.spec import DataSpec
from zoo.decoding import Greedy, Hypothesis
from zoo.decoding.tree import map_tensors
from zoo.kernels.noise import keyed
from zoo.metrics import (
    CAPTION_ITEMS,
    CAPTION_MATCH_ITEMS,
    CaptionBleu,
    CaptionMatch,
    CaptionScore,
    CiderD,
    Control,
    Measure,
    Perplexity,
    Pointing,
    RougeL,
    caption_metrics,
    caption_scores,
    constant_caption,
)
from zoo.networks.encoders import ImageEncoder
from zoo.tasks.captioning.batch import CaptionBatch
from zoo.tasks.captioning.caption import Caption
from zoo.tasks.captioning.predictor import Captioner
from zoo.tasks.captioning.rules import absent_metrics, words_that_point_are_whole
from zoo.tasks.captioning.self_critical import SelfCritical
from zoo.tasks.exploration import Answer
from zoo.tasks.rules import Configured
from zoo.tasks.task import Scores
from zoo.tasks.writing import ReinforceParts, Search, Writer, WritingTask, per_token


class CaptionNetwork(Writer, Protocol):
    """The network of the task; see `zoo/networks/show_attend_tell.py`."""

    encoder: ImageEncoder

    def annotate(self, images: Tensor) -> Tensor:
        """The feature grids `(B, D, h, w)` of images."""

    def encode(self, grid: Tensor) -> Any:
        """Everything that depends on the grid alone."""


class CaptionScores(Scores):
    """The metrics of one split.

    `exact_match` is whether a hypothesis, token by token, is among all true captions of its image where the
    data knows them, else among the references.
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = nn.ModuleDict(caption_metrics())
        self.exact_match, self.pointing = CaptionMatch(), Pointing()
        self.teacher_forced = Perplexity()

    @property
    def signatures(self) -> dict[str, str]:
        """See `Scores`."""
        return {name: metric.signature for name, metric in self.named.items()}

    @property
    def named(self) -> dict[str, CaptionScore | CiderD]:
        """The metrics of text, by name."""
        return {name: cast(CaptionScore | CiderD, metric) for name, metric in self.text.items()}

    def update(
        self,
        texts: Sequence[str],
        references: list[list[str]],
        truths: list[TrueCaptions] | None,
        maps: Sequence[Tensor | None],
    ) -> None:
        """Adds images and their hypotheses.

        Args:
            texts: the hypotheses.
            references: all raw captions of each image.
            truths: all true captions of each image, where the data knows them.
            maps: `(T, h, w)`, the attention weights of each hypothesis; None without attention.
        """
        for metric in self.named.values():
            metric.update(texts, references)
        known: Sequence[TrueCaptions | None] = truths or [None] * len(texts)
        for text, truth, given, weights in zip(texts, known, references, maps, strict=True):
            self.exact_match.update([text], [given if truth is None else list(truth.boxes)])
            self.pointing.update(text.split(), weights, truth)

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`; metrics of pointing only where words name something."""
        values = {name: metric.compute() for name, metric in self.named.items()}
        values["exact_match"] = self.exact_match.compute()
        values |= {f"tf_{name}": value for name, value in self.teacher_forced.compute().items()}
        # In all processes or in none, because this gathers from all.
        pointing = self.pointing.compute()
        return values | {name: value for name, value in pointing.items() if not value.isnan()}


def _pointing(name: str, said: str) -> Control:
    return Control(said, of_model=True, metrics={"pointing_accuracy": f"pointing_{name}"})


class CaptioningTask(WritingTask):
    """Writes captions, see `WritingTask`, which describes the other arguments.

    The loss is that of Xu et al. 2015 (section 4.2.1), per token: `-log p(y|x) + λ Σ_i (1 - Σ_t α_ti)²`. For
    sampled readings α is the distribution, and the reward is the log-likelihood of the words (section 4.1).

    Args:
        network: built for `spec`.
        spec: the images and the captions' vocabulary.
        doubly_stochastic: λ, the weight of the penalty; without attention there is none.
        objective: what the end of the training maximises; None: the likelihood, as all of it.

    Raises:
        ValueError: a number is out of range.
    """

    batch_type = CaptionBatch
    noun, unit = "captions", "captions"
    predictor = Captioner
    rules = (words_that_point_are_whole,)
    metrics: ClassVar = {
        "cider_d": Measure(CiderD, better="max", headline=True, watched=1, items=CAPTION_ITEMS["cider_d"]),
        **{
            f"bleu_{n}": Measure(
                CaptionBleu, better="max", digits=1, role="support", items=CAPTION_ITEMS[f"bleu_{n}"]
            )
            for n in (1, 2, 3)
        },
        "bleu_4": Measure(CaptionBleu, better="max", digits=1, watched=3, items=CAPTION_ITEMS["bleu_4"]),
        "rouge_l": Measure(
            RougeL, better="max", digits=1, role="support", watched=2, items=CAPTION_ITEMS["rouge_l"]
        ),
        "exact_match": Measure(CaptionMatch, better="max", watched=5, items=CAPTION_MATCH_ITEMS, share=True),
        "pointing_accuracy": Measure(Pointing, better="max", role="attention", watched=4, share=True),
        **{
            f"pointing_{name}": Measure(MeanMetric, better=None, role="detail")
            for name in ("uniform", "centre", "random")
        },
        "pointing_counted": Measure(Pointing, better="max", role="detail", share=True),
        **{
            f"bleu_{n}_nobp": Measure(
                CaptionBleu, better="max", digits=1, role="detail", items=CAPTION_ITEMS[f"bleu_{n}_nobp"]
            )
            for n in (1, 2, 3, 4)
        },
        "tf_loss": Measure(Perplexity, better="min", role="detail"),
        "tf_perplexity": Measure(Perplexity, better="min", digits=1, role="detail", watched=6),
    }
    controls: ClassVar = {
        "shuffled": Control("its captions, of other images", of_model=True),
        "uniform": _pointing("uniform", "all places alike"),
        "centre": _pointing("centre", "the centre of the image"),
        "random": _pointing("random", "its maps, of other images"),
        "constant": Control("the best constant caption"),
    }
    network: CaptionNetwork

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
        doubly_stochastic: float,
        objective: SelfCritical | None = None,
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
        if not doubly_stochastic >= 0:
            raise ValueError(f"doubly_stochastic must be at least 0, got {doubly_stochastic}")
        self.spec, self.doubly_stochastic, self.objective = spec, doubly_stochastic, objective
        self._critical = False

    def on_fit_start(self) -> None:
        """Loads the encoder's published weights before a training, unless a checkpoint had them."""
        self.network.encoder.load_published()
        if self.objective is not None:
            self.objective.weigh_by(self.trainer.datamodule.references("train"))  # type: ignore[attr-defined]

    # Training

    def loss_of(self, batch: CaptionBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Task`: cross-entropy, the penalty, and REINFORCE where readings are sampled."""
        if self.objective is not None:
            if self._stepped:  # not anew for each part of a batch
                self._critical = self._share_done() >= self.objective.after
            if self._critical:
                return self._self_critical_loss(self.objective, batch)
        memory, image_of = self._encoded(batch), batch.image_of
        if image_of is not None:
            memory = map_tensors(lambda of_images: of_images[image_of], memory)
        inputs, labels = decoder_pair(batch.captions)
        decoded = self.network.decode(memory, inputs)
        return self._penalised(decoded, labels, *self._loss(decoded, labels))

    def _self_critical_loss(
        self, objective: SelfCritical, batch: CaptionBatch
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of captions that the model writes, see `SelfCritical`, and the penalty.

        Where readings are sampled, they learn as from true captions, with the weight r(w) - r(v).
        """
        shown = torch.arange(len(batch.index)) if batch.image_of is None else _first_rows(batch.image_of)
        rows = torch.arange(len(shown), device=self.device).repeat_interleave(objective.samples)
        # An item is an image now. With dropout the words would come from other probabilities than those that
        # have a gradient, whose mean would no longer be that of the reward.
        with (
            keyed(batch.index[shown], self._seed, self.current_epoch),
            _evaluating(self.network, nn.Dropout),
        ):
            memory = self._encoded(batch)
            greedy, sampled = self._own_captions(objective, memory, len(shown))
            rewards = [
                objective.rewards(
                    [self.target_codec.decode(one.ids) for one in (*best, *several)],
                    [one.finished for one in (*best, *several)],
                    batch.references[row],
                )
                for row, best, several in zip(shown.tolist(), greedy, sampled, strict=True)
            ]
            reward = torch.tensor(rewards, device=self.device)  # (images, 1 + samples)
            advantage = (reward[:, 1:] - reward[:, :1]).flatten()
            written = [[self.target.bos, *one.ids] for several in sampled for one in several]
            inputs, labels = decoder_pair(move_data_to_device(self.target_codec.pad(written), self.device))
            decoded = self.network.decode(map_tensors(lambda of_images: of_images[rows], memory), inputs)
            unwritten = (*self._special, self.target.unk)
            log_likelihood = self._log_likelihood(decoded.features, labels, unwritten).sum(1)
            loss = per_token(-(advantage * log_likelihood).mean(), labels)
            terms = {"sampled_cider_d": reward[:, 1:].mean(), "greedy_cider_d": reward[:, 0].mean()}
            if self.reinforce is not None:
                weighted = decoded._replace(log_prob=decoded.log_prob * advantage[:, None])
                terms |= self._reinforce_terms(self.reinforce, weighted, labels)
                loss = loss + self.weight * terms.pop("reinforce_loss")
            return self._penalised(decoded, labels, loss, terms)

    @torch.no_grad()
    def _own_captions(
        self, objective: SelfCritical, memory: Any, images: int
    ) -> tuple[list[list[Hypothesis]], list[list[Hypothesis]]]:
        """The caption of each image by greedy search, as at a test, and its sampled ones."""
        limits = torch.full((images,), self.target.maximum_length, device=self.device)
        with _evaluating(self.network, Selection):
            greedy = self._write(Greedy(), memory, limits, weights=False)
        return greedy, self._write(objective.sample, memory, limits, weights=False)

    def _encoded(self, batch: CaptionBatch) -> Any:
        """The memory of each image of a batch to train on."""
        self.network.encoder.begin_epoch(self.current_epoch)
        return self.network.encode(self._grid(batch))

    def _penalised(
        self, decoded: Any, labels: Padded, loss: Tensor, terms: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """A loss and its terms with the penalty of Xu et al. 2015, section 4.2.1."""
        alpha = decoded.weights if decoded.probabilities is None else decoded.probabilities
        if self.doubly_stochastic and alpha is not None:
            terms["doubly_stochastic"] = doubly_stochastic_penalty(alpha.float(), labels.keep_mask)
            loss = loss + self.doubly_stochastic * per_token(terms["doubly_stochastic"], labels)
        return loss, terms

    def _grid(self, batch: CaptionBatch) -> Tensor:
        if batch.features is not None:
            return batch.features
        assert batch.images is not None  # a batch has one of the two
        return self.network.annotate(batch.images)

    # Evaluation

    def new_scores(self, split: str) -> CaptionScores:
        """See `Task`."""
        return CaptionScores()

    def _evaluate(self, split: str, batch: CaptionBatch) -> None:
        scores = cast(CaptionScores, self.scores[split])
        inputs, labels = decoder_pair(batch.captions)
        grid = self._grid(batch)
        memory = self.network.encode(grid)
        nll = self._cross_entropy(self.network.decode(memory, inputs).features, labels)
        scores.teacher_forced.update(nll, labels.lengths.sum())
        best = [hypotheses[0] for hypotheses in self._search(self._search_of(split), grid, memory)]
        texts = [self.target_codec.decode(hypothesis.ids) for hypothesis in best]
        maps = [_maps(hypothesis, grid) for hypothesis in best]
        scores.update(texts, batch.references, batch.truths, maps)
        self._keep_predictions(
            split,
            batch.index,
            input=batch.names,
            references=batch.references,
            prediction=texts,
            score=[hypothesis.score for hypothesis in best],
            finished=[hypothesis.finished for hypothesis in best],
        )

    def control_scores(self, data: Any) -> dict[str, dict[str, float]]:
        """See `Task`: the best constant caption on validation, and the model's captions of other images."""
        constant = constant_caption(chain.from_iterable(data.references("train")), data.references("val"))
        found = {}
        for split in data.test_splits:
            texts = [item["prediction"] for item in self.predictions[split]]
            references = [item["references"] for item in self.predictions[split]]
            found[split] = caption_scores("constant", [constant] * len(texts), references)
            found[split] |= caption_scores("shuffled", [*texts[1:], *texts[:1]], references)
        return found

    # Search

    def _search(self, search: Search, grid: Tensor, memory: Any) -> list[list[Hypothesis]]:
        limits = torch.full((len(grid),), self.target.maximum_length, device=grid.device)
        return self._write(search, memory, limits)

    @torch.no_grad()  # in inference mode autocast would cast all weights again at every step
    def caption(self, images: Tensor, search: Search | None = None) -> list[list[Caption]]:
        """Writes captions of images.

        Args:
            images: `(B, C, H, W)` in [0, 1].
            search: the configured one by default.

        Returns:
            Each image's captions, best first.
        """
        grid = self.network.annotate(images.to(self.device))
        with keyed(torch.zeros(len(grid), dtype=torch.int64, device=grid.device)):  # so that answers repeat
            found = self._search(search or self.decoding, grid, self.network.encode(grid))
        return [
            [
                Caption(
                    text=self.target_codec.decode(hypothesis.ids),
                    score=hypothesis.score,
                    finished=hypothesis.finished,
                    tokens=self.target_codec.tokens(hypothesis.ids),
                    weights=_maps(hypothesis, grid),
                    ids=hypothesis.ids,
                )
                for hypothesis in hypotheses
            ]
            for hypotheses in found
        ]

    @torch.no_grad()
    def candidates(self, images: Tensor, caption: Caption) -> list[list[Answer]]:
        """What might have stood in the place of each token of a caption of one image, see `caption`."""
        grid = self.network.annotate(images.to(self.device))
        read = [self.target.bos, *caption.ids[:-1]]
        inputs: Padded = move_data_to_device(self.target_codec.pad([read]), self.device)
        with keyed(torch.zeros(1, dtype=torch.int64, device=grid.device)):
            return self._candidates(self.network.decode(self.network.encode(grid), inputs), caption.ids)


@contextmanager
def _evaluating(network: Any, kind: type[nn.Module]) -> Iterator[None]:
    """A context in which the parts of a kind are as in evaluation."""
    parts = [part for part in network.modules() if isinstance(part, kind) and part.training]
    for part in parts:
        part.eval()
    try:
        yield
    finally:
        for part in parts:
            part.train()


def _first_rows(image_of: Tensor) -> Tensor:
    """The first caption of each image, `(I,)`, of captions `(B,)` that share I images."""
    rows = torch.arange(len(image_of), device=image_of.device)
    first = image_of.new_full((int(image_of.max()) + 1,), len(rows))
    return first.scatter_reduce_(0, image_of, rows, "amin")


def _maps(hypothesis: Hypothesis, grid: Tensor) -> Tensor | None:
    """The attention weights of each token over a grid `(B, D, h, w)`: `(T, h, w)`; None without attention."""
    weights = hypothesis.weights
    return None if weights is None else weights.unflatten(-1, grid.shape[-2:]).float()
