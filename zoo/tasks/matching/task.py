"""Matching: the network says how two texts stand to each other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

import torch
import torch.nn.functional as F
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import MeanMetric
from torchmetrics.classification import BinaryF1Score, MulticlassAccuracy, MulticlassF1Score
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, SpearmanCorrCoef

from zoo.core.batch import Padded, batches_of_like_length
from zoo.core.overlap import shared_words
from zoo.core.spec import DataSpec, DegreeSpec, OverlapSpec
from zoo.core.text import TextCodec
from zoo.kernels.noise import keyed
from zoo.metrics import MATCH_ITEMS, AlignmentAccuracy, Control, Measure
from zoo.metrics.ranking import (
    MAP_ITEMS,
    MRR_ITEMS,
    MeanAveragePrecision,
    MeanReciprocalRank,
    expected_by_chance,
    of_document_order,
)
from zoo.tasks.exploration import TokenReading, heads_of
from zoo.tasks.matching.batch import MatchingBatch
from zoo.tasks.matching.maps import pair_maps
from zoo.tasks.matching.match import DrawnMap, Match
from zoo.tasks.matching.predictor import Matcher
from zoo.tasks.matching.rules import absent_metrics, overlap_is_read, unused_settings
from zoo.tasks.matching.scores import SQUARED_ERROR_ITEMS, MatchingScores, PointingAccuracy
from zoo.tasks.pretrained import begin_with_run, run_fits_network
from zoo.tasks.rules import Configured
from zoo.tasks.sampled_readings import ReinforceParts, estimator, joined, reinforce_terms, sampled
from zoo.tasks.task import Task
from zoo.tasks.word_vectors import begin_with_vectors, vectors_fit_network

_PAIRS, _TOKENS = 64, 16_384
"""The most pairs, and the most tokens with padding, that are matched at once in a prediction."""


class Matched(Protocol):
    """What a network says of pairs; it may have `readings` or `matrices` as well, see `pair_maps`."""

    @property
    def logits(self) -> Tensor:
        """`(B, C)`, scores of C classes, or `(B, 1)` of a degree."""


class MatchingNetwork(Protocol):
    """The network of the task."""

    def __call__(self, left: Padded, right: Padded, *overlap: Tensor) -> Matched:
        """Matches B pairs; where the data has them, with their counts of shared words `(B, 2)`."""


class MatchingTask(Task):
    """Trains by cross-entropy of labels, or by squared error of degrees.

    Of two classes the last one is positive: `f1` is of it, and candidates are ranked by its log-odds. A
    degree in a range is `lowest + (highest - lowest) sigmoid(z)`, of the network's output z. All sampled
    readings of a pair are rewarded with what its answer is worth: the log-probability of its class, or the
    negative squared error.

    Args:
        network: built for `spec`.
        spec: the texts `left` and `right`, and a `label` or a `degree`.
        optimizer: see `Task`.
        scheduler: see `Task`.
        reinforce: the REINFORCE term, used where the network samples readings.
        monitor: see `Task`.

    Raises:
        ValueError: a number is out of range, or there is one class only.
    """

    network: MatchingNetwork
    batch_type = MatchingBatch
    noun, unit = "pairs", "pairs"
    predictor = Matcher
    rules = (overlap_is_read, vectors_fit_network, run_fits_network)
    metrics: ClassVar = {
        "map": Measure(
            MeanAveragePrecision,
            better="max",
            digits=4,
            headline=True,
            watched=1,
            items=MAP_ITEMS,
            share=True,
        ),
        "accuracy": Measure(
            MulticlassAccuracy,
            better="max",
            digits=4,
            headline=True,
            watched=2,
            items=MATCH_ITEMS,
            share=True,
        ),
        "pearson": Measure(PearsonCorrCoef, better="max", digits=4, headline=True, watched=3),
        "mrr": Measure(MeanReciprocalRank, better="max", digits=4, beside="map", items=MRR_ITEMS, share=True),
        "f1": Measure(BinaryF1Score, better="max", digits=4, beside="accuracy", share=True),
        "macro_f1": Measure(
            MulticlassF1Score, better="max", digits=4, role="support", beside="accuracy", share=True
        ),
        "spearman": Measure(SpearmanCorrCoef, better="max", digits=4, beside="pearson"),
        "mse": Measure(MeanSquaredError, better="min", digits=4, beside="pearson", items=SQUARED_ERROR_ITEMS),
        "alignment_accuracy": Measure(AlignmentAccuracy, better="max", role="attention", share=True),
        "pointing_accuracy": Measure(PointingAccuracy, better="max", role="attention", share=True),
        "loss": Measure(MeanMetric, better="min", role="detail", watched=4),
    }
    controls: ClassVar = {
        "majority": Control("the most frequent class of train"),
        "mean": Control("the mean degree of train"),
        "order": Control("candidates in the order of the data"),
        "chance": Control("candidates in random order (expected)"),
    }

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return absent_metrics(configured)

    @classmethod
    def unused_settings(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return unused_settings(configured)

    @classmethod
    def reinforced(cls, configured: Configured) -> bool:
        """See `Task`."""
        return configured.samples

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        reinforce: ReinforceParts | None,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        self.spec = spec
        degree, overlap = spec.fields.get("degree"), spec.fields.get("overlap")
        self.degree = degree if isinstance(degree, DegreeSpec) else None
        self.overlap = overlap if isinstance(overlap, OverlapSpec) else None
        self.classes = () if self.degree else spec.label().classes
        if len(self.classes) == 1:
            raise ValueError(f"the data {spec.name} has one class, {self.classes[0]}: nothing can be learned")
        self.network = network
        self.codecs = TextCodec(spec.text("left")), TextCodec(spec.text("right"))
        self.reinforce = estimator(network, reinforce)
        self.weight = 1.0 if reinforce is None else reinforce.get("weight", 1.0)

    def setup(self, stage: str) -> None:
        """See `Task`; word vectors of the data, and the weights of a run, come into the network."""
        super().setup(stage)
        begin_with_vectors(self.network, self.trainer)  # type: ignore[arg-type]
        begin_with_run(self.network, self.spec, self.trainer)  # type: ignore[arg-type]

    # Training

    def loss_of(self, batch: MatchingBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Task`: the loss of answers, what the network adds, and REINFORCE for sampled readings."""
        matched = self._match(batch)
        losses = self._losses(matched.logits, batch.answers)
        loss = losses.mean()
        terms = {"squared_error" if self.degree else "cross_entropy": loss}
        if (further := getattr(matched, "further_loss", None)) is not None:
            terms["further_loss"] = further.mean()
            loss = loss + terms["further_loss"]
        if self.reinforce is not None and (choices := sampled(getattr(matched, "readings", ()))):
            of_choices = reinforce_terms(self.reinforce, joined(choices), reward=-losses.detach())
            loss = loss + self.weight * of_choices.pop("loss")
            terms |= of_choices
        return loss, terms

    def _match(self, batch: MatchingBatch) -> Matched:
        overlap = () if batch.overlap is None else (batch.overlap,)
        return self.network(batch.left, batch.right, *overlap)

    def _losses(self, logits: Tensor, answers: Tensor) -> Tensor:
        """The loss of each pair, `(B,)`."""
        if self.degree is None:
            return F.cross_entropy(logits.float(), answers, reduction="none")
        return (self._degrees(logits) - answers).square()

    def _degrees(self, logits: Tensor) -> Tensor:
        assert self.degree is not None
        lowest, highest = self.degree.lowest, self.degree.highest
        return lowest + (highest - lowest) * logits[:, 0].float().sigmoid()

    # Evaluation

    def new_scores(self, split: str) -> MatchingScores:
        """See `Task`."""
        return MatchingScores(self.spec)

    def _evaluate(self, split: str, batch: MatchingBatch) -> None:
        scores = cast(MatchingScores, self.scores[split])
        matched = self._match(batch)
        logits = matched.logits.float()
        found, score = self._answers(logits)
        scores.update(found, batch.answers, self._losses(logits, batch.answers))
        columns: dict[str, Sequence[Any]] = {}
        if batch.group is not None:
            right = batch.answers == len(self.classes) - 1
            scores.update_rankings(batch.index, batch.group, log_odds(logits), right)
            columns = {
                "group": batch.group.tolist(),
                "rank_score": log_odds(logits).tolist(),
                "right": right.tolist(),
            }
        maps = pair_maps(matched, batch.left, batch.right)
        if maps and batch.alignment is not None:
            scores.update_alignment(maps[0], batch.alignment)
        self._keep_predictions(
            split,
            batch.index,
            input=[
                "\t".join(" ".join(text.split()) for text in pair)
                for pair in zip(batch.left_text, batch.right_text, strict=True)
            ],
            references=[[text] for text in self._texts(batch.answers)],
            prediction=self._texts(found),
            score=score.tolist(),
            finished=[True] * len(batch.index),
            **columns,
        )

    def _answers(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """The classes found `(B,)` and their log-probabilities; or the degrees, twice."""
        if self.degree is not None:
            return (degrees := self._degrees(logits)), degrees
        best, classes = logits.log_softmax(-1).max(-1)
        return classes, best

    def _texts(self, answers: Tensor) -> list[str]:
        if self.degree is not None:
            return [f"{degree:.6g}" for degree in answers.tolist()]
        return [self.classes[label] for label in answers.tolist()]

    def is_right(self, prediction: Mapping[str, Any]) -> bool:
        """Whether a kept prediction is right; a degree where it is within a tenth of the range."""
        found, true = prediction["prediction"], prediction["references"][0]
        if self.degree is None:
            return bool(found == true)
        return abs(float(found) - float(true)) <= 0.1 * (self.degree.highest - self.degree.lowest)

    def control_scores(self, data: Any) -> dict[str, dict[str, float]]:
        """See `Task`; of rankings the order of the data, and chance."""
        found = {split: dict(scores) for split, scores in super().control_scores(data).items()}
        for split in self.test_splits:
            questions: dict[int, list[bool]] = {}
            for item in self.predictions[split]:
                if "group" in item:
                    questions.setdefault(item["group"], []).append(item["right"])
            for name, score in (("order", of_document_order), ("chance", expected_by_chance)):
                values = score(list(questions.values()))
                found.setdefault(split, {}).update({f"{name}_{key}": one for key, one in values.items()})
        return found

    # Prediction

    @torch.no_grad()
    def match(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Match]]:
        """Matches raw texts, in batches of similar lengths; each pair's classes, the likeliest first.

        Of a text that is too long for the model only the beginning is read.

        Args:
            pairs: raw texts.
            weights: whether answers keep matrices over words.
            progress: called after each batch with its number of pairs.
        """
        read = [
            [codec.encode_beginning(text) for codec, text in zip(self.codecs, pair, strict=True)]
            for pair in pairs
        ]
        found: dict[int, list[Match]] = {}
        longest = [max(len(ids) for ids, _ in sides) for sides in read]
        for numbers in batches_of_like_length(longest, _PAIRS, _TOKENS):
            left, right = (
                move_data_to_device(codec.pad([read[number][side][0] for number in numbers]), self.device)
                for side, codec in enumerate(self.codecs)
            )
            overlap = []
            if self.overlap is not None:
                counts = [shared_words(*pairs[number], self.overlap) for number in numbers]
                overlap = [torch.tensor(counts, device=self.device)]
            with keyed(torch.zeros_like(left.lengths)):  # so that answers repeat
                matched = self.network(left, right, *overlap)
            maps = pair_maps(matched, left, right) if weights else []
            for row, number in enumerate(numbers):
                sides = zip(self.codecs, pairs[number], read[number], strict=True)
                words = [codec.tokens_of(text, ids) for codec, text, (ids, _) in sides] if maps else []
                drawn = [DrawnMap.of(one, row, *words) for one in maps]
                unread = sum(beyond for _, beyond in read[number])
                found[number] = self._matches(matched.logits[row], drawn, unread)
            if progress is not None:
                progress(len(numbers))
        return [found[number] for number in range(len(pairs))]

    @torch.no_grad()
    def heads(self, pair: tuple[str, str]) -> list[TokenReading]:
        """What each head reads in a pair; nothing of a network without `attention_maps`."""
        sides = [
            move_data_to_device(codec.pad([codec.encode_beginning(text)[0]]), self.device)
            for codec, text in zip(self.codecs, pair, strict=True)
        ]
        return heads_of(self, self.codecs[0], *sides)

    def _matches(self, logits: Tensor, maps: list[DrawnMap], unread: int) -> list[Match]:
        """The answers to a pair, of its logits `(C,)`."""
        if self.degree is not None:
            (degree,) = self._degrees(logits.unsqueeze(0)).tolist()
            return [Match(f"{degree:.3f}", None, degree, maps, unread)]
        probabilities, classes = logits.float().softmax(-1).sort(descending=True)
        return [
            Match(self.classes[label], probability, None, maps, unread)
            for label, probability in zip(classes.tolist(), probabilities.tolist(), strict=True)
        ]


def log_odds(logits: Tensor) -> Tensor:
    """The log-odds `(B,)` of the last class, of logits `(B, C)`; probabilities near 1 would be equal."""
    return logits[:, -1] - torch.logsumexp(logits[:, :-1], -1)
