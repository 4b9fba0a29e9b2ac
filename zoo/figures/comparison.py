"""Configurations side by side: a metric with its intervals, and what quality costs."""

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from zoo.figures.labels import families, fitted, room, shortened
from zoo.figures.number_places import Place, distance, nearest, number_places

_LABEL_COLUMNS, _LIST_COLUMNS = 56, 72
_MOST_ROWS, _MOST_NUMBERS = 40, 30
_ROW_HEIGHT, _DPI = 0.3, 120
_DOT, _FAINT, _FRONT, _BASELINE = "#1f5fa8", "0.6", "#c2410c", "#111111"
_TITLE_FONT, _LIST_FONT, _NUMBER_FONT = 12.0, 8.0, 7.5

# Inches of the picture of quality against cost.
_LEFT, _BOTTOM, _TOP, _GAP = 0.95, 0.65, 0.75, 0.3
_WIDE, _HIGH, _LINE = 6.6, 4.2, 0.165
_DOT_RADIUS, _NUMBER_RADIUS = 0.045, 0.085

_FAR = 2  # times the range of all better points, below which others would press these together


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


def metric_with_intervals(
    scores: Sequence[Score], *, metric: str, higher_is_better: bool = True, baseline: int | None = None
) -> Figure:
    """Draws each configuration's mean with its interval, and every seed as a faint dot; the best on top.

    Of more than 40 configurations the best 40 are drawn, and the baseline wherever it stands.

    Args:
        scores: of the configurations.
        metric: its name, on the axis.
        higher_is_better: which way is up.
        baseline: the place in `scores` of what the others are compared with.

    Raises:
        ValueError: there is nothing to draw, or a configuration has no value.
    """
    _require(scores)
    ordered = _best_first(scores, higher_is_better)
    kept = ordered[:_MOST_ROWS]
    cut = f"the best {len(kept)} of {len(ordered)}" if len(kept) < len(ordered) else ""
    if baseline in ordered[_MOST_ROWS:]:
        kept, cut = [*kept, baseline], f"{cut}, and the baseline"
    shown = [scores[number] for number in kept]
    interval = "mean with 95 % interval, seeds" if any(score.interval for score in shown) else ""
    figure = Figure(
        figsize=(9.0, 1.2 + _ROW_HEIGHT * len(shown)), dpi=_DPI, facecolor="white", layout="constrained"
    )
    _title(figure, f"{metric}: {interval}" if interval else metric, cut)
    axes = figure.add_subplot()
    for place, score in enumerate(shown):
        axes.plot(score.values, [place] * len(score.values), "o", color=_FAINT, markersize=4, alpha=0.7)
        if score.interval is not None:
            axes.plot(score.interval, [place, place], color=_DOT, linewidth=1.6)
        axes.plot([score.mean], [place], "D", color=_DOT, markersize=5)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    names = [_named(scores, number, baseline, _LABEL_COLUMNS) for number in kept]
    axes.set_yticks(range(len(shown)), names, family=list(families()), fontsize=9, parse_math=False)
    if baseline in kept:
        axes.axvline(scores[baseline].mean, color=_BASELINE, linewidth=0.8, linestyle=":", zorder=0.9)
    _finish(axes, metric, "")
    return figure


def quality_against_cost(
    scores: Sequence[Score],
    costs: Sequence[float],
    *,
    metric: str,
    cost: str,
    higher_is_better: bool = True,
    more_is_better: bool = True,
    baseline: int | None = None,
) -> Figure:
    """Draws what each configuration reached against its speed or price, with the Pareto front.

    Points have numbers, from the best on; a list at the side says their names. Of very many, the best have,
    with those of the front and the baseline. A few points that are much worse than all others stand as
    triangles at the edge, with their values in the list: else they would press the others together.

    Args:
        scores: of the configurations.
        costs: of each, in the same order.
        metric: its name, on the vertical axis.
        cost: its name, on the horizontal axis.
        higher_is_better: which way quality gets better.
        more_is_better: which way the cost gets better; true of a speed.
        baseline: the place in `scores` of what the others are compared with.

    Raises:
        ValueError: there is nothing to draw, or the counts differ.
    """
    _require(scores)
    if len(scores) != len(costs):
        raise ValueError(f"{len(scores)} scores but {len(costs)} costs")
    means = [score.mean for score in scores]
    front = pareto_front(means, costs, higher_is_better=higher_is_better, more_is_better=more_is_better)
    ordered = _best_first(scores, higher_is_better)
    inside = ordered[: len(ordered) - _far_off([means[number] for number in ordered])]
    outside = ordered[len(inside) :]
    listed = _listed(ordered, [*front, *outside], baseline)
    lines = [
        (place, _named(scores, number, baseline, _LIST_COLUMNS) + _value(number, outside, means))
        for place, number in enumerate(ordered, start=1)
        if number in listed
    ]
    figure, axes = _with_list(
        lines, others=len(ordered) - len(lines), marked=[ordered.index(number) + 1 for number in front]
    )
    _title(figure, f"{metric} against {cost}")
    for number in inside:
        if (interval := scores[number].interval) is not None:
            axes.plot([costs[number]] * 2, interval, color="0.8", linewidth=1.0, zorder=1.5)
    axes.plot([costs[number] for number in inside], [means[number] for number in inside], "o", color=_DOT)
    axes.margins(x=0.06, y=0.1)
    bottom, top = axes.set_ylim(axes.get_ylim())
    _draw_front(axes, [costs[number] for number in front], [means[number] for number in front])
    edge = bottom if higher_is_better else top
    spots = [(costs[number], means[number] if number in inside else edge) for number in ordered]
    _draw_outside(axes, spots[len(inside) :], downwards=higher_is_better)
    if baseline is not None:
        _ring(axes, spots[ordered.index(baseline)])
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=3,
        frameon=False,
        fontsize=_LIST_FONT,
        borderaxespad=0.2,
    )
    axes.set_xlim(axes.get_xlim())  # numbers and their lines change it no more
    _write_numbers(axes, spots, [place for place, _ in lines])
    _finish(axes, cost, metric)
    return figure


def _value(number: int, outside: Sequence[int], means: Sequence[float]) -> str:
    return f": {means[number]:.4g}" if number in outside else ""


def _draw_front(axes: Axes, costs: Sequence[float], means: Sequence[float]) -> None:
    axes.plot(
        costs,
        means,
        color=_FRONT,
        linewidth=1.4,
        # between two points nothing was measured: there one has what the point of the better cost reached
        drawstyle="steps-post",
        marker="o",
        label="Pareto front: nothing is better in both",
    )


def _draw_outside(axes: Axes, spots: Sequence[Place], *, downwards: bool) -> None:
    if not spots:
        return
    axes.plot(
        *zip(*spots, strict=True),
        linestyle="",
        marker="v" if downwards else "^",
        color=_DOT,
        clip_on=False,
        label="far beyond this edge: values in the list",
    )


def _ring(axes: Axes, spot: Place) -> None:
    axes.plot(
        *spot,
        linestyle="",
        marker="o",
        markersize=11,
        markerfacecolor="none",
        color=_BASELINE,
        clip_on=False,
        label="baseline",
    )


def _best_first(scores: Sequence[Score], higher_is_better: bool) -> list[int]:
    return sorted(range(len(scores)), key=lambda number: scores[number].mean, reverse=higher_is_better)


def _listed(ordered: Sequence[int], notable: Sequence[int], baseline: int | None) -> set[int]:
    """Which points have a number: the baseline, the notable ones, and the best of the others."""
    first = [*([] if baseline is None else [baseline]), *notable, *ordered]
    return set(list(dict.fromkeys(first))[:_MOST_NUMBERS])


def _far_off(ordered: Sequence[float]) -> int:
    """How many of the worst values, a quarter at most, are so far off that the others would become one line.

    Args:
        ordered: values, the best first.
    """
    found = 0
    for number in range(1, len(ordered) // 4 + 1):
        last, next_one = ordered[-1 - number], ordered[-number]
        if abs(last - next_one) > _FAR * abs(ordered[0] - last):
            found = number
    return found


def _named(scores: Sequence[Score], number: int, baseline: int | None, columns: int) -> str:
    name = shortened(scores[number].name, columns)
    return f"{name} (baseline)" if number == baseline else name


def _with_list(
    lines: Sequence[tuple[int, str]], *, others: int, marked: Container[int]
) -> tuple[Figure, Axes]:
    """A figure with axes and, at their right, a list of numbers and names.

    Args:
        lines: of the list.
        others: how many are not in it, which a last line says.
        marked: numbers whose lines have the colour of the front.
    """
    rest = [f"{others} others: dots without a number"] * (others > 0)
    names = [*(name for _, name in lines), *rest]
    numbers = 0.3
    wide = _LEFT + _WIDE + _GAP + numbers + max(room(name, _LIST_FONT) for name in names) + 0.1
    high = _BOTTOM + max(_HIGH, _LINE * len(names)) + _TOP
    figure = Figure(figsize=(wide, high), dpi=_DPI, facecolor="white")
    axes = figure.add_axes((_LEFT / wide, _BOTTOM / high, _WIDE / wide, 1 - (_BOTTOM + _TOP) / high))

    def write(line: int, text: str, *, left: float, color: str, align: str = "left") -> None:
        across, down = (_LEFT + _WIDE + _GAP + left) / wide, 1 - (_TOP + _LINE * line) / high
        style: dict[str, Any] = {"fontsize": _LIST_FONT, "family": list(families()), "parse_math": False}
        figure.text(across, down, text, color=color, ha=align, va="top", **style)

    for line, (number, name) in enumerate(lines):
        color = _FRONT if number in marked else "black"
        write(line, str(number), left=numbers - 0.07, color=color, align="right")
        write(line, name, left=numbers, color=color)
    for text in rest:
        write(len(lines), text, left=numbers, color="black")
    return figure, axes


def _write_numbers(axes: Axes, spots: Sequence[Place], numbers: Sequence[int]) -> None:
    """Writes numbers beside their points, on no point and on no other number.

    Args:
        axes: with their final size and limits.
        spots: all points, the one with number 1 first.
        numbers: those that are written.
    """
    inch = _DPI
    written = set(numbers)
    # those that are written choose their places first
    order = [*numbers, *(number for number in range(1, len(spots) + 1) if number not in written)]
    middles = axes.transData.transform([spots[number - 1] for number in order]) / inch
    boxes = [(x - _DOT_RADIUS, y - _DOT_RADIUS, x + _DOT_RADIUS, y + _DOT_RADIUS) for x, y in middles]
    frame = np.divide(axes.bbox.extents, inch).tolist()
    to_data = axes.transData.inverted()
    for number, place, box in zip(
        numbers, number_places(boxes, _NUMBER_RADIUS, frame), boxes[: len(numbers)], strict=False
    ):
        x, y = to_data.transform(np.multiply(place, inch))
        if distance(place, box) > 1.5 * _NUMBER_RADIUS:
            from_x, from_y = to_data.transform(np.multiply(nearest(place, box), inch))
            axes.plot([from_x, x], [from_y, y], color="0.4", linewidth=0.6, zorder=2.5)
        text = axes.text(x, y, str(number), fontsize=_NUMBER_FONT, ha="center", va="center_baseline")
        text.set_path_effects([withStroke(linewidth=2.0, foreground="white")])


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


def _title(figure: Figure, *lines: str) -> None:
    """Over the whole figure: labels at the side of the axes leave less room over these than it needs."""
    across = figure.get_figwidth() - 0.2
    text = "\n".join(fitted(line, _TITLE_FONT, across) for line in lines if line)
    style: dict[str, Any] = {"fontsize": _TITLE_FONT, "family": list(families()), "parse_math": False}
    figure.suptitle(text, x=0.1 / figure.get_figwidth(), horizontalalignment="left", **style)


def _finish(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across, family=list(families()), parse_math=False)
    axes.set_ylabel(up, family=list(families()), parse_math=False)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
