"""The metrics of one split."""

import warnings
from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn
from torchmetrics import MeanMetric, Metric
from torchmetrics.classification import BinaryF1Score, MulticlassAccuracy, MulticlassF1Score
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, SpearmanCorrCoef

from zoo.core.spec import DataSpec
from zoo.metrics import AlignmentAccuracy, ItemScore, MeanOverItems
from zoo.metrics.ranking import MeanAveragePrecision, MeanReciprocalRank, Ranking
from zoo.tasks.matching.maps import PairMap
from zoo.tasks.task import Scores


class PointingAccuracy(MeanMetric):
    """The share of pairs whose heaviest word belongs to a word of the other text, in [0, 1]."""

    higher_is_better = True  # type: ignore[assignment]  # a mean in general has no better side


class MatchingScores(Scores):
    """See `MatchingTask.metrics`; each is measured where the data and the network allow it.

    Args:
        spec: the data.
    """

    def __init__(self, spec: DataSpec) -> None:
        super().__init__()
        self.classes = spec.outputs()
        self.of_answers = nn.ModuleDict()
        if self.classes == 1:
            self.of_answers["pearson"] = PearsonCorrCoef()
            with warnings.catch_warnings():  # that it keeps a number of each pair
                warnings.simplefilter("ignore")
                self.of_answers["spearman"] = SpearmanCorrCoef()
            self.of_answers["mse"] = MeanSquaredError()
        else:
            self.of_answers["accuracy"] = MulticlassAccuracy(self.classes, average="micro")
            self.of_answers["macro_f1"] = MulticlassF1Score(self.classes, average="macro")
            if self.classes == 2:
                self.of_answers["f1"] = BinaryF1Score()
        self.rankings = nn.ModuleDict({"map": MeanAveragePrecision(), "mrr": MeanReciprocalRank()})
        self.ranked = False
        self.alignment, self.pointing = AlignmentAccuracy(), PointingAccuracy()
        self.loss = MeanMetric()

    @property
    def signatures(self) -> dict[str, str]:
        """See `Scores`: how rankings treat ties, and questions without an answer."""
        used = dict(self.rankings) if self.ranked else {}
        return {name: cast(Ranking, one).signature for name, one in used.items()}

    def update(self, found: Tensor, answers: Tensor, losses: Tensor) -> None:
        """Adds pairs.

        Args:
            found: `(B,)`, the classes or degrees that the network found.
            answers: `(B,)`, the true ones.
            losses: `(B,)`.
        """
        for metric in self.of_answers.values():
            cast(Metric, metric).update(found, answers)
        self.loss.update(losses)

    def update_rankings(self, numbers: Tensor, groups: Tensor, scores: Tensor, right: Tensor) -> None:
        """Adds candidates of questions, see `Ranking`."""
        self.ranked = True
        for metric in self.rankings.values():
            cast(Ranking, metric).update(numbers, groups, scores, right)

    def update_alignment(self, pair_map: PairMap, alignment: Tensor) -> None:
        """Compares what was looked at with what belongs together.

        Args:
            pair_map: of B pairs.
            alignment: `(B, L_left)`, see `MatchingBatch`.
        """
        if pair_map.of_words:
            self.alignment.update(pair_map.distributions(), alignment)
            return
        known = (alignment >= 0).any(1)
        heaviest = pair_map.weights[:, 0].argmax(-1, keepdim=True)
        self.pointing.update((alignment == heaviest).any(1)[known].float())

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`."""
        named = {**self.of_answers, **self.rankings}
        named |= {"alignment_accuracy": self.alignment, "pointing_accuracy": self.pointing, "loss": self.loss}
        metrics = {name: cast(Metric, metric) for name, metric in named.items()}
        return {name: metric.compute() for name, metric in metrics.items() if metric.update_called}


def _squared_error(prediction: str, references: Sequence[str]) -> float:
    """Of a degree and the true one, as predictions.jsonl has them."""
    return (float(prediction) - float(references[0])) ** 2


def _squared_errors() -> MeanOverItems:
    return MeanOverItems(_squared_error, higher_is_better=False)


SQUARED_ERROR_ITEMS = ItemScore("squared_error", _squared_errors)
