"""Configurations side by side: a metric with its intervals, and what quality costs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zoo.figures.labels import families, shortened

_LABEL_COLUMNS = 56
_MOST_ROWS, _MOST_NAMES = 40, 15
_ROW_HEIGHT, _DPI = 0.3, 120
_DOT, _FAINT, _FRONT = "#1f5fa8", "0.6", "#c2410c"


class Score(NamedTuple):
    """What a configuration reached.

    Attributes:
        name: of the configuration.
        values: one of each seed, at least one.
        interval: of their mean; None of one seed.
    """

    name: str
    values: Sequence[float]
    interval: tuple[float, float] | None

    @property
    def mean(self) -> float:
        """Of the seeds."""
        return float(np.mean(self.values))


def metric_with_intervals(scores: Sequence[Score], *, metric: str, higher_is_better: bool = True) -> Figure:
    """Draws each configuration's mean with its interval, and every seed as a faint dot; the best on top.

    Of more than 40 configurations the best 40 are drawn.

    Args:
        scores: of the configurations.
        metric: its name, on the axis.
        higher_is_better: which way is up.

    Raises:
        ValueError: there is nothing to draw, or a configuration has no value.
    """
    _require(scores)
    ordered = sorted(scores, key=lambda score: score.mean, reverse=higher_is_better)
    shown = ordered[:_MOST_ROWS]
    figure = Figure(
        figsize=(9.0, 1.2 + _ROW_HEIGHT * len(shown)), dpi=_DPI, facecolor="white", layout="constrained"
    )
    axes = figure.add_subplot()
    for place, score in enumerate(shown):
        axes.plot(score.values, [place] * len(score.values), "o", color=_FAINT, markersize=4, alpha=0.7)
        if score.interval is not None:
            axes.plot(score.interval, [place, place], color=_DOT, linewidth=1.6)
        axes.plot([score.mean], [place], "D", color=_DOT, markersize=5)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    names = [shortened(score.name, _LABEL_COLUMNS) for score in shown]
    axes.set_yticks(range(len(shown)), names, family=list(families()), fontsize=9, parse_math=False)
    cut = f", the best {len(shown)} of {len(scores)}" if len(shown) < len(scores) else ""
    interval = ": mean with 95 % interval, seeds" if any(score.interval for score in shown) else ""
    _finish(axes, f"{metric}{interval}{cut}", metric, "")
    return figure


def quality_against_cost(
    scores: Sequence[Score],
    costs: Sequence[float],
    *,
    metric: str,
    cost: str,
    higher_is_better: bool = True,
    more_is_better: bool = True,
) -> Figure:
    """Draws what each configuration reached against its speed or price, with the Pareto front.

    Names stand at the points of the front, and at all of them where there are few.

    Args:
        scores: of the configurations.
        costs: of each, in the same order.
        metric: its name, on the vertical axis.
        cost: its name, on the horizontal axis.
        higher_is_better: which way quality gets better.
        more_is_better: which way the cost gets better; true of a speed.

    Raises:
        ValueError: there is nothing to draw, or the counts differ.
    """
    _require(scores)
    if len(scores) != len(costs):
        raise ValueError(f"{len(scores)} scores but {len(costs)} costs")
    means = [score.mean for score in scores]
    front = pareto_front(means, costs, higher_is_better=higher_is_better, more_is_better=more_is_better)
    figure = Figure(figsize=(9.0, 5.2), dpi=_DPI, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for score, price in zip(scores, costs, strict=True):
        if score.interval is not None:
            axes.plot([price, price], score.interval, color=_FAINT, linewidth=1.2)
    axes.plot(costs, means, "o", color=_DOT, markersize=6)
    axes.plot(
        [costs[number] for number in front],
        [means[number] for number in front],
        color=_FRONT,
        linewidth=1.4,
        marker="o",
        markersize=6,
        label="Pareto front: nothing is better in both",
    )
    named = range(len(scores)) if len(scores) <= _MOST_NAMES else front[:_MOST_NAMES]
    middle = (min(costs) + max(costs)) / 2
    for number in named:
        is_right = costs[number] > middle  # its name stands on the side with more room
        axes.annotate(
            shortened(scores[number].name, _LABEL_COLUMNS),
            (costs[number], means[number]),
            xytext=(-5 if is_right else 5, 5),
            textcoords="offset points",
            horizontalalignment="right" if is_right else "left",
            fontsize=8,
            family=list(families()),
            parse_math=False,
        )
    axes.margins(x=0.15, y=0.1)
    axes.legend(frameon=False)
    _finish(axes, f"{metric} against {cost}", cost, metric)
    return figure


def pareto_front(
    values: Sequence[float], costs: Sequence[float], *, higher_is_better: bool, more_is_better: bool
) -> list[int]:
    """Which points no other point beats: as good in both and better in one.

    Args:
        values: the quality of each.
        costs: the cost of each.
        higher_is_better: which way quality gets better.
        more_is_better: which way the cost gets better.

    Returns:
        Their places, in order of the cost, the best cost first.
    """
    quality = np.asarray(values, float) * (1 if higher_is_better else -1)
    price = np.asarray(costs, float) * (-1 if more_is_better else 1)
    front: list[int] = []
    reached, paid = -np.inf, np.inf
    for number in np.lexsort((-quality, price)):  # by price, the best quality of each first
        if quality[number] > reached or (quality[number] == reached and price[number] == paid):
            front.append(int(number))
            reached, paid = quality[number], price[number]
    return front


def _require(scores: Sequence[Score]) -> None:
    if not scores:
        raise ValueError("there is nothing to draw")
    for score in scores:
        if not len(score.values):
            raise ValueError(f"{score.name!r} has no value")


def _finish(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(shortened(title, 2 * _LABEL_COLUMNS), family=list(families()), parse_math=False)
    axes.set_xlabel(across, family=list(families()), parse_math=False)
    axes.set_ylabel(up, family=list(families()), parse_math=False)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
