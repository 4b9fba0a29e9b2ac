"""Weights of keys for queries as a matrix of coloured cells."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from zoo.figures.labels import shortened, text_style, text_width
from zoo.figures.page import Page

COLOURS = "Blues"
SCALE = Normalize(0.0, 1.0)
TITLE_COLUMNS = 70
_TOKEN_COLUMNS = 16


def token_labels(tokens: Sequence[str]) -> list[str]:
    """Tokens, shortened to labels of rows or columns."""
    return [shortened(token, _TOKEN_COLUMNS) for token in tokens]


def widest(labels: Sequence[str], font: float) -> float:
    """Width in inches of the widest label; 0 of none."""
    return max((text_width(label, font) for label in labels), default=0.0)


def tallest(columns: Sequence[str], font: float) -> float:
    """Height in inches of the tallest label of a column: single letters stand upright, others are turned."""
    return max(font / 72 * 1.4, widest([label for label in columns if len(label) > 1], font))


def frame_cells(axes: Axes, rows: int, columns: int) -> None:
    """Sets the limits of a matrix, the first row on top."""
    axes.set_xlim(0, max(columns, 1))
    axes.set_ylim(max(rows, 1), 0)
    axes.spines[:].set_color("0.6")


def label_cells(
    axes: Axes, rows: Sequence[str], columns: Sequence[str], *, font: float, every: int = 1
) -> None:
    """Labels every so many rows at the left and columns on top; an axis without labels gets none."""
    axes.xaxis.tick_top()
    axes.set_xticks(every * np.arange(len(columns)) + 0.5, columns, **text_style(fontsize=font))
    for label in axes.get_xticklabels():
        label.set_rotation(90 if len(label.get_text()) > 1 else 0)
    axes.set_yticks(every * np.arange(len(rows)) + 0.5, rows, **text_style(fontsize=font))


def colour_bar(page: Page, left: float, top: float, length: float, *, font: float) -> None:
    """Draws the scale of the weights."""
    axes = page.axes(left, top, 0.12, length)
    page.figure.colorbar(ScalarMappable(SCALE, COLOURS), cax=axes, ticks=[0.0, 0.5, 1.0])
    axes.tick_params(labelsize=font, length=2)
