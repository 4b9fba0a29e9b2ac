"""The metrics of the task."""

from functools import partial

import torch
from torch import Tensor
from torchmetrics import Metric

from zoo.metrics import ItemScore, MeanOverItems
from zoo.tasks.task import Scores

LARGEST = 1000
"""The largest size that is measured apart."""


class MeanBySize(Metric):
    """Weighted means: of sequences of the sizes of training together, and of each other size apart."""

    higher_is_better = None
    totals: Tensor
    weights: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("totals", "weights"):
            self.add_state(name, torch.zeros(LARGEST + 1), dist_reduce_fx="sum")

    def update(self, values: Tensor, weights: Tensor, group: Tensor) -> None:
        """Counts sequences.

        Args:
            values: `(B,)`.
            weights: `(B,)`, what each counts for.
            group: `(B,)` int64, the size of those that are measured apart; 0 for the others.
        """
        self.totals.index_add_(0, group, (values * weights).to(self.totals))
        self.weights.index_add_(0, group, weights.to(self.weights))

    def compute(self) -> dict[int, Tensor]:
        """The mean of each group that has sequences."""
        return {
            size: self.totals[size] / self.weights[size] for size in self.weights.nonzero().flatten().tolist()
        }


class MemoryScores(Scores):
    """The metrics of one split."""

    def __init__(self) -> None:
        super().__init__()
        self.bits_per_sequence, self.wrong_bits, self.exact_sequences = (MeanBySize() for _ in range(3))

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`; those of a size apart are named `<metric>_<size>`."""
        return {
            f"{name}_{size}" if size else name: value
            for name in ("bits_per_sequence", "wrong_bits", "exact_sequences")
            for size, value in getattr(self, name).compute().items()
        }


def _within_training(value: float, apart: bool) -> float | None:
    return None if apart else value


BITS_ITEMS = ItemScore(
    "bits_per_sequence",
    partial(MeanOverItems, _within_training, higher_is_better=False),
    columns=("bits", "apart"),
)
EXACT_ITEMS = ItemScore(
    "exact_sequences", partial(MeanOverItems, _within_training), columns=("exact", "apart")
)
