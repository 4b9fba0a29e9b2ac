"""Captioning: any network that looks at an image and writes what it shows."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import Metric

from zoo.attention import doubly_stochastic_penalty
from zoo.core.batch import TrueCaptions, decoder_pair
from zoo.core.spec import DataSpec
from zoo.decoding import Hypothesis
from zoo.decoding.tree import map_tensors
from zoo.kernels.noise import keyed
from zoo.metrics import (
    CaptionMatch,
    CaptionScore,
    CiderD,
    Perplexity,
    Pointing,
    caption_metrics,
    caption_scores,
    constant_caption,
)
from zoo.networks.encoders import ImageEncoder
from zoo.tasks.captioning.batch import CaptionBatch
from zoo.tasks.captioning.caption import Caption
from zoo.tasks.captioning.predictor import Captioner
from zoo.tasks.captioning.rules import absent_metrics, words_that_point_are_whole
from zoo.tasks.rules import Configured
from zoo.tasks.task import Scores
from zoo.tasks.writing import ReinforceParts, Search, Writer, WritingTask, per_token


class CaptionNetwork(Writer, Protocol):
    """What the task asks of a network; see `zoo/networks/show_attend_tell.py`."""

    encoder: ImageEncoder

    def annotate(self, images: Tensor) -> Tensor:
        """The grid of images."""

    def encode(self, grid: Tensor) -> Any:
        """Everything that depends on the grid alone."""


class CaptionScores(Scores):
    """The metrics of one split.

    `exact_match` asks, token by token, whether a hypothesis is among the captions that are true of its image
    where the data knows them all, else whether it is among the references.
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = nn.ModuleDict(caption_metrics())
        self.exact_match, self.pointing = CaptionMatch(), Pointing()
        self.teacher_forced = Perplexity()

    @property
    def signatures(self) -> dict[str, str]:
        """How scores of text were computed."""
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
        """Adds images with what was said of them.

        Args:
            texts: the hypotheses.
            references: all raw captions of each image.
            truths: all that may truly be said of each image, where that is known.
            maps: `(T, h, w)`, what was looked at while each hypothesis was written; None without attention.
        """
        for metric in self.named.values():
            metric.update(texts, references)
        known: Sequence[TrueCaptions | None] = truths or [None] * len(texts)
        for text, truth, given, weights in zip(texts, known, references, maps, strict=True):
            self.exact_match.update([text], [given if truth is None else list(truth.boxes)])
            self.pointing.update(text.split(), weights, truth)

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`; pointing only where something was pointed at."""
        values = {name: metric.compute() for name, metric in self.named.items()}
        values["exact_match"] = self.exact_match.compute()
        values |= {f"tf_{name}": value for name, value in self.teacher_forced.compute().items()}
        # In all processes or in none: this gathers what they pointed at.
        pointing = self.pointing.compute()
        values |= {name: value for name, value in pointing.items() if not value.isnan()}
        for metric in self.modules():
            if isinstance(metric, Metric):
                metric.reset()
        return values


class CaptioningTask(WritingTask):
    """Writes captions; `WritingTask` says how that is trained, validated and tested.

    The loss is that of section 4.2.1 in Xu et al. 2015, per token: `-log p(y|x) + λ Σ_i (1 - Σ_t α_ti)²`. Of
    readings that are sampled, α is the distribution, and the log-likelihood of the words is their reward
    (section 4.1).

    Args:
        network: built for `spec`.
        spec: the images and the captions' vocabulary.
        optimizer: see `WritingTask`, as for all that follow.
        scheduler: see there.
        decoding: see there.
        label_smoothing: see there.
        reinforce: see there.
        monitor: see there.
        doubly_stochastic: λ, of the penalty on places that are looked at too much or too little; a decoder
            without attention has none.

    Raises:
        ValueError: a number is out of its range.
    """

    batch_type = CaptionBatch
    predictor = Captioner
    rules = (words_that_point_are_whole,)
    validated = (
        *("bleu_1", "bleu_2", "bleu_3", "bleu_4"),
        *("bleu_1_nobp", "bleu_2_nobp", "bleu_3_nobp", "bleu_4_nobp"),
        *("rouge_l", "cider_d", "exact_match", "tf_loss", "tf_perplexity"),
        *("pointing_accuracy", "pointing_uniform", "pointing_centre", "pointing_random", "pointing_counted"),
    )
    telling = ("cider_d", "rouge_l", "bleu_4", "pointing_accuracy", "exact_match", "tf_perplexity")
    network: CaptionNetwork

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return absent_metrics(configured, cls.validated)

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
        self.spec, self.doubly_stochastic = spec, doubly_stochastic

    def on_fit_start(self) -> None:
        """Reads published weights before a training, unless a checkpoint has brought them."""
        self.network.encoder.load_published()

    # Training

    def loss_of(self, batch: CaptionBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross-entropy, the doubly stochastic penalty, and the REINFORCE term where readings are sampled."""
        self.network.encoder.begin_epoch(self.current_epoch)
        inputs, labels = decoder_pair(batch.captions)
        memory, image_of = self.network.encode(self._grid(batch)), batch.image_of
        if image_of is not None:
            memory = map_tensors(lambda of_images: of_images[image_of], memory)
        decoded = self.network.decode(memory, inputs)
        loss, terms = self._loss(decoded, labels)
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
        self._keep_predictions(split, batch.index, batch.names, batch.references, texts, best)

    def controls(self, data: Any) -> dict[str, dict[str, float]]:
        """The best constant caption, chosen on validation, and the model's captions said of other images."""
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
            images: `(B, C, H, W)` in [0, 1], as the specification has them.
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
                )
                for hypothesis in hypotheses
            ]
            for hypotheses in found
        ]


def _maps(hypothesis: Hypothesis, grid: Tensor) -> Tensor | None:
    """`(T, h, w)`, what was looked at in a grid `(B, D, h, w)` for each token."""
    weights = hypothesis.weights
    return None if weights is None else weights.unflatten(-1, grid.shape[-2:]).float()
