"""The metrics of one split."""

from typing import cast

import torch
from torch import Tensor, nn
from torchmetrics import MeanMetric, Metric
from torchmetrics.classification import BinaryF1Score, MulticlassAccuracy, MulticlassF1Score
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, SpearmanCorrCoef

from zoo.attention import masked_softmax
from zoo.core.batch import real_positions
from zoo.core.spec import DataSpec
from zoo.metrics import AlignmentAccuracy
from zoo.metrics.ranking import MeanAveragePrecision, MeanReciprocalRank, Ranking
from zoo.tasks.matching.batch import MatchingBatch
from zoo.tasks.matching.maps import PairMap
from zoo.tasks.task import Scores


class PointingAccuracy(MeanMetric):
    """The share of pairs whose heaviest word belongs to a word of the other text, in [0, 1]."""

    higher_is_better = True  # type: ignore[assignment]  # a mean in general has no better side


class MatchingScores(Scores):
    """See `MatchingTask.metrics`; each is measured where the data and the network allow it.

    The positive class, of which `f1` is and by which candidates are ranked, is the last one.

    Args:
        spec: the data.
    """

    def __init__(self, spec: DataSpec) -> None:
        super().__init__()
        self.loss = MeanMetric()
        self.answers = nn.ModuleDict()
        if spec.outputs() == 1:
            self.answers |= {
                "pearson": PearsonCorrCoef(),
                "spearman": SpearmanCorrCoef(),
                "mse": MeanSquaredError(),
            }
        else:
            classes = spec.outputs()
            self.answers |= {
                "accuracy": MulticlassAccuracy(classes, average="micro"),
                "macro_f1": MulticlassF1Score(classes, average="macro"),
                **({"f1": BinaryF1Score()} if classes == 2 else {}),
            }
        self.rankings = nn.ModuleDict({"map": MeanAveragePrecision(), "mrr": MeanReciprocalRank()})
        self.alignment, self.pointing = AlignmentAccuracy(), PointingAccuracy()

    @property
    def signatures(self) -> dict[str, str]:
        """How rankings treat ties and questions without an answer."""
        return {
            name: cast(Ranking, metric).signature
            for name, metric in self.rankings.items()
            if cast(Metric, metric).update_called
        }

    def update_maps(self, batch: MatchingBatch, maps: list[PairMap]) -> None:
        """Compares the first matrix over words with the true alignment, where it is known."""
        first = next((one for one in maps if one.what != "match of columns"), None)
        if batch.alignment is None or first is None:
            return
        # Scores of matches may be negative, which padding is not.
        there = real_positions(batch.right.lengths, first.weights.shape[-1]).unsqueeze(1)
        weights = masked_softmax(first.weights, there) if first.what != "weights" else first.weights
        if first.of_words:
            self.alignment.update(weights, batch.alignment)
        else:
            known = (batch.alignment >= 0).any(1)
            heaviest = weights[:, 0].argmax(-1, keepdim=True)
            hits = (batch.alignment == heaviest).any(1)
            self.pointing.update(hits[known].float())

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`."""
        named = {**self.answers, **self.rankings, "alignment_accuracy": self.alignment}
        named |= {"pointing_accuracy": self.pointing, "loss": self.loss}
        metrics = {name: cast(Metric, metric) for name, metric in named.items()}
        return {name: metric.compute() for name, metric in metrics.items() if metric.update_called}


def log_odds(logits: Tensor) -> Tensor:
    """The log-odds of the last class `(B,)`, of logits `(B, C)`."""
    logits = logits.float()
    return logits[:, -1] - torch.logsumexp(logits[:, :-1], -1)
