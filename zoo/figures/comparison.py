"""Configurations side by side: a metric with its intervals, and what quality costs."""

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from zoo.figures.labels import fitted, padded_width, shortened, text_style
from zoo.figures.number_places import Place, distance, nearest, number_places
from zoo.figures.page import DPI, Page

ROW_HEIGHT = 0.3  # inches
_LABEL_COLUMNS, _LIST_COLUMNS = 56, 72
_MOST_ROWS, _MOST_NUMBERS = 40, 30
DOT, _FAINT, _FRONT, _BASELINE = "#1f5fa8", "0.6", "#c2410c", "#111111"
_TITLE_FONT, _LIST_FONT, _NUMBER_FONT = 12.0, 8.0, 7.5

# Inches of the picture of quality against cost.
_LEFT, _BOTTOM, _TOP, _GAP = 0.95, 0.65, 0.75, 0.3
_WIDE, _HIGH, _LINE = 6.6, 4.2, 0.165
_DOT_RADIUS, _NUMBER_RADIUS = 0.045, 0.085

_FAR = 2  # times the range of all better values: the distance from which a value counts as far off


class Score(NamedTuple):
    """A metric of one configuration.

    Attributes:
        name: of the configuration.
        values: one for each seed, at least one.
        interval: of their mean; None with one seed.
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
    """Draws each configuration's mean with its interval, and every seed as a faint dot; the best is on top.

    Of more than 40 configurations the best 40 are drawn, and the baseline wherever it stands.

    Args:
        scores: of the configurations.
        metric: its name, on the axis.
        higher_is_better: the direction in which the metric gets better.
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
        figsize=(9.0, 1.2 + ROW_HEIGHT * len(shown)), dpi=DPI, facecolor="white", layout="constrained"
    )
    _title(figure, f"{metric}: {interval}" if interval else metric, cut)
    axes = figure.add_subplot()
    for row, score in enumerate(shown):
        draw_score(axes, score, row)
    label_rows(axes, [_named(scores, number, baseline, _LABEL_COLUMNS) for number in kept])
    if baseline in kept:
        axes.axvline(scores[baseline].mean, color=_BASELINE, linewidth=0.8, linestyle=":", zorder=0.9)
    _finish(axes, metric, "")
    return figure


def draw_score(axes: Axes, score: Score, row: int) -> None:
    """Draws a diamond at the mean, a bar for its interval and a faint dot for each seed."""
    axes.plot(score.values, [row] * len(score.values), "o", color=_FAINT, markersize=4, alpha=0.7)
    if score.interval is not None:
        axes.plot(score.interval, [row, row], color=DOT, linewidth=1.6)
    axes.plot([score.mean], [row], "D", color=DOT, markersize=5)


def label_rows(axes: Axes, names: Sequence[str]) -> None:
    """Labels the rows, the first one on top."""
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names, **text_style(fontsize=9))


def draw_grid(axes: Axes) -> None:
    """Draws a grid behind everything, and no frame on top and at the right."""
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


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
    """Draws the quality of each configuration against its speed or price, with the Pareto front.

    Points are numbered from the best on, and a list at the side names them; of very many points only the
    best, the front and the baseline are. A few points that are much worse than all others stand as triangles
    at the edge, with their values in the list, so that the others are not pressed together.

    Args:
        scores: of the configurations.
        costs: of each, in the same order.
        metric: its name, on the vertical axis.
        cost: its name, on the horizontal axis.
        higher_is_better: the direction in which the metric gets better.
        more_is_better: the direction in which the cost gets better; True of a speed.
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
    inside = ordered[: len(ordered) - far_off([means[number] for number in ordered])]
    outside = ordered[len(inside) :]
    listed = _listed(ordered, [*front, *outside], baseline)
    names = {number: _named(scores, number, baseline, _LIST_COLUMNS) for number in listed}
    names |= {number: f"{names[number]}: {means[number]:.4g}" for number in outside if number in listed}
    lines = [(place, names[number]) for place, number in enumerate(ordered, start=1) if number in listed]
    figure, axes = _with_list(
        lines, others=len(ordered) - len(lines), marked=[ordered.index(number) + 1 for number in front]
    )
    _title(figure, f"{metric} against {cost}")
    for number in inside:
        if (interval := scores[number].interval) is not None:
            axes.plot([costs[number]] * 2, interval, color="0.8", linewidth=1.0, zorder=1.5)
    axes.plot([costs[number] for number in inside], [means[number] for number in inside], "o", color=DOT)
    axes.margins(x=0.06, y=0.1)
    bottom, top = axes.set_ylim(axes.get_ylim())
    axes.plot(
        [costs[number] for number in front],
        [means[number] for number in front],
        color=_FRONT,
        linewidth=1.4,
        # Nothing was measured between two points: there the quality is that of the better cost.
        drawstyle="steps-post",
        marker="o",
        label="Pareto front: nothing is better in both",
    )
    edge = bottom if higher_is_better else top
    spots = [(costs[number], means[number] if number in inside else edge) for number in ordered]
    if outside:
        axes.plot(
            *zip(*spots[len(inside) :], strict=True),
            "v" if higher_is_better else "^",
            color=DOT,
            clip_on=False,
            label="far beyond this edge: values in the list",
        )
    if baseline is not None:
        ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "clip_on": False}
        axes.plot(*spots[ordered.index(baseline)], "o", color=_BASELINE, label="baseline", **ring)
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    axes.legend(ncols=3, frameon=False, fontsize=_LIST_FONT, **place)
    axes.set_xlim(axes.get_xlim())  # fixed before numbers and their lines are added
    _write_numbers(axes, spots, [place for place, _ in lines])
    _finish(axes, cost, metric)
    return figure


def _best_first(scores: Sequence[Score], higher_is_better: bool) -> list[int]:
    return sorted(range(len(scores)), key=lambda number: scores[number].mean, reverse=higher_is_better)


def _listed(ordered: Sequence[int], notable: Sequence[int], baseline: int | None) -> set[int]:
    """The points with a number: the baseline, the notable ones, and the best of the others."""
    first = [*([] if baseline is None else [baseline]), *notable, *ordered]
    return set(list(dict.fromkeys(first))[:_MOST_NUMBERS])


def far_off(ordered: Sequence[float]) -> int:
    """How many of the worst values are far off, a quarter of all at most; the best value comes first.

    None is where the others are one value, which nothing presses together.
    """
    found = 0
    for number in range(1, len(ordered) // 4 + 1):
        last, next_one = ordered[-1 - number], ordered[-number]
        if abs(last - next_one) > _FAR * abs(ordered[0] - last) > 0:
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
        others: how many points are not in the list, which its last line says.
        marked: numbers whose lines have the colour of the front.
    """
    rest = [f"{others} others: dots without a number"] * (others > 0)
    names = [*(name for _, name in lines), *rest]
    left = _LEFT + _WIDE + _GAP + 0.3  # of the names; the numbers end before
    high = max(_HIGH, _LINE * len(names))
    page = Page(left + max(padded_width(name, _LIST_FONT) for name in names) + 0.1, _BOTTOM + high + _TOP)
    for line, (number, name) in enumerate(lines):
        style = {"fontsize": _LIST_FONT, "color": _FRONT if number in marked else "black"}
        page.write(str(number), left - 0.07, _TOP + _LINE * line, ha="right", **style)
        page.write(name, left, _TOP + _LINE * line, **style)
    for text in rest:
        page.write(text, left, _TOP + _LINE * len(lines), fontsize=_LIST_FONT)
    return page.figure, page.axes(_LEFT, _TOP, _WIDE, high)


def _write_numbers(axes: Axes, spots: Sequence[Place], numbers: Sequence[int]) -> None:
    """Writes numbers beside their points, on no point and on no other number.

    Args:
        axes: with their final size and limits.
        spots: all points, the one with number 1 first.
        numbers: those that are written.
    """
    inch = DPI
    # The written ones choose their places first.
    order = [*numbers, *(number for number in range(1, len(spots) + 1) if number not in set(numbers))]
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
    """The points that no other point beats by being as good in both and better in one.

    Args:
        values: the quality of each.
        costs: the cost of each.
        higher_is_better: the direction in which quality gets better.
        more_is_better: the direction in which the cost gets better.

    Returns:
        Their indices, the best cost first.
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
    """Over the whole figure, since labels beside the axes leave too little width over these."""
    across = figure.get_figwidth() - 0.2
    text = "\n".join(fitted(line, _TITLE_FONT, across) for line in lines if line)
    figure.suptitle(text, x=0.1 / figure.get_figwidth(), ha="left", **text_style(fontsize=_TITLE_FONT))


def _finish(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across, **text_style())
    axes.set_ylabel(up, **text_style())
    draw_grid(axes)
