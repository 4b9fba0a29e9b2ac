"""How well games go."""

import torch
from torch import Tensor
from torchmetrics import MeanMetric, Metric


class CatchRate(MeanMetric):
    """The share of balls that were caught, in [0, 1]."""

    higher_is_better = True  # type: ignore[assignment]  # a mean in general has no better side


class StandardError(Metric):
    """Of a mean over independent values: their standard deviation / sqrt(N); 0 of fewer than two."""

    higher_is_better = False
    count: Tensor
    total: Tensor
    squares: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("count", "total", "squares"):
            self.add_state(name, torch.zeros(()), dist_reduce_fx="sum")

    def update(self, values: Tensor) -> None:
        """Counts `(N,)` values."""
        self.count += len(values)
        self.total += values.sum()
        self.squares += values.square().sum()

    def compute(self) -> Tensor:
        """The standard error of the mean of all values."""
        if self.count < 2:
            return torch.zeros_like(self.total)
        variance = (self.squares - self.total.square() / self.count).clamp_min(0) / (self.count - 1)
        return (variance / self.count).sqrt()
