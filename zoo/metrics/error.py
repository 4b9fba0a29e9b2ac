"""Error rates."""

from torchmetrics import MeanMetric


class Error(MeanMetric):
    """The share of wrong answers, in [0, 1]."""

    higher_is_better = False  # type: ignore[assignment]  # a mean in general has no better side
