"""Mechanisms over data sets: what each reached on each, in one picture."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from zoo.figures.comparison import Score
from zoo.figures.labels import families, shortened

_LABEL_COLUMNS, _TITLE_COLUMNS = 40, 44
_ROW_HEIGHT, _DPI = 0.3, 120
_DOT, _FAINT = "#1f5fa8", "0.6"


class Panel(NamedTuple):
    """One data set.

    Attributes:
        title: its name and the metric's, in lines.
        scores: of the mechanisms that were tried on it.
        higher_is_better: which way the metric gets better.
    """

    title: str
    scores: Sequence[Score]
    higher_is_better: bool


def side_by_side(panels: Sequence[Panel]) -> Figure:
    """Draws a panel for each data set and a row for each mechanism, the best of the first panel on top.

    A diamond is the mean over seeds, a bar its interval, a faint dot a seed. A mechanism that was not tried
    on a data set has an empty row there.

    Raises:
        ValueError: there is nothing to draw.
    """
    if not panels or not all(panel.scores for panel in panels):
        raise ValueError("there is nothing to draw")
    names = [score.name for panel in panels for score in _ordered(panel)]
    rows = {name: row for row, name in enumerate(dict.fromkeys(names))}
    size = (2.6 + 3.6 * len(panels), 1.1 + _ROW_HEIGHT * len(rows))
    figure = Figure(figsize=size, dpi=_DPI, facecolor="white", layout="constrained")
    for axes, panel in zip(
        figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True
    ):
        for score in panel.scores:
            row = rows[score.name]
            axes.plot(score.values, [row] * len(score.values), "o", color=_FAINT, markersize=4, alpha=0.7)
            if score.interval is not None:
                axes.plot(score.interval, [row, row], color=_DOT, linewidth=1.6)
            axes.plot([score.mean], [row], "D", color=_DOT, markersize=5)
        title = "\n".join(shortened(line, _TITLE_COLUMNS) for line in panel.title.splitlines())
        axes.set_title(title, fontsize=10, family=list(families()), parse_math=False)
        labels = [shortened(name, _LABEL_COLUMNS) for name in rows]
        axes.set_yticks(range(len(rows)), labels, family=list(families()), fontsize=9, parse_math=False)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure


def _ordered(panel: Panel) -> list[Score]:
    return sorted(panel.scores, key=lambda score: score.mean, reverse=panel.higher_is_better)
