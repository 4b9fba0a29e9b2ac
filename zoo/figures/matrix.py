"""Mechanisms over data sets: the score of each mechanism on each data set, in one picture."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from zoo.figures.comparison import DOT, ROW_HEIGHT, Score, draw_grid, draw_score, far_off, label_rows
from zoo.figures.labels import shortened, text_style
from zoo.figures.page import DPI

LABEL_COLUMNS, _TITLE_COLUMNS = 40, 44


class Panel(NamedTuple):
    """One data set.

    Attributes:
        title: lines with its name and the metric's.
        scores: of the mechanisms that were tried on it.
        higher_is_better: the direction in which the metric gets better.
    """

    title: str
    scores: Sequence[Score]
    higher_is_better: bool


def side_by_side(panels: Sequence[Panel]) -> Figure:
    """Draws a panel for each data set and a row for each mechanism, the best of the first panel on top.

    A diamond is the mean over seeds, a bar its interval, a faint dot a seed. A mechanism that was not tried
    on a data set has an empty row there. A few that are much worse than all others stand as triangles at the
    edge, with their means, so that the others are not pressed together.

    Raises:
        ValueError: there is nothing to draw.
    """
    if not panels or not all(panel.scores for panel in panels):
        raise ValueError("there is nothing to draw")
    names = [score.name for panel in panels for score in _best_first(panel)]
    rows = {name: row for row, name in enumerate(dict.fromkeys(names))}
    size = (2.6 + 3.6 * len(panels), 1.1 + ROW_HEIGHT * len(rows))
    figure = Figure(figsize=size, dpi=DPI, facecolor="white", layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(all_axes, panels, strict=True):
        ordered = _best_first(panel)
        inside = ordered[: len(ordered) - far_off([score.mean for score in ordered])]
        for score in inside:
            draw_score(axes, score, rows[score.name])
        left, right = axes.set_xlim(axes.get_xlim())
        edge, mark, side = (left, "<", "left") if panel.higher_is_better else (right, ">", "right")
        for score in ordered[len(inside) :]:
            place = (edge, rows[score.name])
            axes.plot(*place, mark, color=DOT, clip_on=False)
            style = {"ha": side, "va": "center", "fontsize": 8}
            axes.annotate(f"  {score.mean:.4g}  ", place, **style)
        title = "\n".join(shortened(line, _TITLE_COLUMNS) for line in panel.title.splitlines())
        axes.set_title(title, **text_style(fontsize=10))
        label_rows(axes, [shortened(name, LABEL_COLUMNS) for name in rows])
        draw_grid(axes)
    return figure


def _best_first(panel: Panel) -> list[Score]:
    return sorted(panel.scores, key=lambda score: score.mean, reverse=panel.higher_is_better)
