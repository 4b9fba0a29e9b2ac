"""Error rates."""

from collections.abc import Sequence

from torchmetrics import MeanMetric

from zoo.metrics.item_scores import ItemScore
from zoo.metrics.text import ExactMatch


class Error(MeanMetric):
    """The share of wrong answers, in [0, 1]."""

    higher_is_better = False  # type: ignore[assignment]  # a mean in general has no better side


class WrongAnswers(ExactMatch):
    """The error of answers that were written down, in [0, 1]: the share that equals no reference."""

    higher_is_better = False

    def score(self, sums: Sequence[int]) -> float:
        """The share, 0 to 1, of summed statistics."""
        return 1 - super().score(sums)


WRONG_ITEMS = ItemScore("wrong_answers", WrongAnswers)
