"""What a model attended to: one cell for each target and source token."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from zoo.figures.cells import (
    COLOURS,
    SCALE,
    TITLE_COLUMNS,
    colour_bar,
    frame_cells,
    label_cells,
    tallest,
    token_labels,
    widest,
)
from zoo.figures.labels import shortened, text_width
from zoo.figures.page import Page
from zoo.figures.shown import matrix

# All lengths in inches, all fonts in points.
_CELL = 0.25
_MARGIN = 0.2
_GAP = 0.35  # between panels
_TICK = 0.08  # between cells and token labels
_AXIS_LABEL = 0.25  # height of what rows and columns are, "target" and "source"
_TITLE = 0.3  # height of a title's line
_BAR_SPACE = 0.7  # colour bar with its numbers
_BAR_LENGTH = (0.8, 1.8)  # at least and at most
_ROW = 16.0  # panels fill rows of about this width

_TOKEN_FONT = 9.0
_TITLE_FONT = 11.0


class Aligned(Protocol):
    """One decoded sentence, as its task describes it."""

    @property
    def weights(self) -> Any:
        """`(T, K)` in [0, 1]."""

    @property
    def source_tokens(self) -> Sequence[str]:
        """K tokens, EOS included."""

    @property
    def tokens(self) -> Sequence[str]:
        """T target tokens, EOS included."""


def alignment(
    weights: ArrayLike, source_tokens: Sequence[str], target_tokens: Sequence[str], *, title: str = ""
) -> Figure:
    """Draws the attention of one sentence, as in the figures of Bahdanau et al. 2015.

    Every figure has cells of one size and one colour scale, 0 to 1. A row shows what was read in the decoder
    step that wrote the row's token.

    Args:
        weights: `(T, K)` in [0, 1].
        source_tokens: K labels of the columns, EOS included.
        target_tokens: T labels of the rows, EOS included.
        title: stands above.

    Raises:
        ValueError: the labels do not fit the weights.
    """
    return _sheet([_panel(weights, source_tokens, target_tokens, title)])


def alignment_sheet(
    items: Sequence[Aligned],
    titles: Sequence[str] | None = None,
    *,
    axes: tuple[str, str] = ("target", "source"),
) -> Figure:
    """Draws several sentences, or one sentence by several models, side by side on one figure.

    Args:
        items: the sentences, of any sizes.
        titles: one above each sentence, if given.
        axes: what rows and columns are.

    Raises:
        ValueError: there is no sentence, the number of titles differs, or labels do not fit the weights.
    """
    if not items:
        raise ValueError("an alignment sheet needs at least one sentence, got none")
    if titles is not None and len(titles) != len(items):
        raise ValueError(f"{len(items)} sentences but {len(titles)} titles")
    titled = zip(items, titles or [""] * len(items), strict=True)
    panels = [_panel(item.weights, item.source_tokens, item.tokens, title) for item, title in titled]
    return _sheet(panels, axes)


class _Panel(NamedTuple):
    """One matrix, and its place in inches: `left` and `top` hold labels and title, then come the cells."""

    weights: np.ndarray[Any, np.dtype[np.float64]]
    source: list[str]
    target: list[str]
    title: str
    left: float
    top: float
    cells: tuple[float, float]  # width and height

    @property
    def width(self) -> float:
        """Of the whole panel."""
        return max(self.left + self.cells[0], text_width(self.title, _TITLE_FONT))


def _panel(
    weights: ArrayLike, source_tokens: Sequence[str], target_tokens: Sequence[str], title: str
) -> _Panel:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(target_tokens), len(source_tokens)):
        raise ValueError(
            "weights need one row for each target token and one column for each source token, EOS included: "
            f"got weights of shape {values.shape}, {len(target_tokens)} target tokens and "
            f"{len(source_tokens)} source tokens"
        )
    source, target = token_labels(source_tokens), token_labels(target_tokens)
    title = shortened(title, TITLE_COLUMNS)
    above = _AXIS_LABEL + _TICK + tallest(source, _TOKEN_FONT)
    beside = _AXIS_LABEL + _TICK + widest(target, _TOKEN_FONT)
    cells = (_CELL * max(len(source), 1), _CELL * max(len(target), 1))
    return _Panel(values, source, target, title, beside, above + (_TITLE if title else 0), cells)


def _sheet(panels: list[_Panel], axes: tuple[str, str] = ("target", "source")) -> Figure:
    rows = _rows(panels)
    tops = [max(panel.top for panel in row) for row in rows]  # the cells of a row begin at one height
    heights = [above + max(panel.cells[1] for panel in row) for above, row in zip(tops, rows, strict=True)]
    heights[0] = max(heights[0], tops[0] + _BAR_LENGTH[0])
    content_width = max(sum(panel.width + _GAP for panel in row) - _GAP for row in rows)
    cells_end = _MARGIN + max(_cells_end(row) for row in rows)  # titles may reach farther
    across = max(2 * _MARGIN + content_width, cells_end + _BAR_SPACE + _MARGIN)
    page = Page(across, 2 * _MARGIN + sum(heights) + _GAP * (len(rows) - 1))
    top = _MARGIN
    for row, above, height in zip(rows, tops, heights, strict=True):
        left = _MARGIN
        for panel in row:
            _draw(page.axes(left + panel.left, top + above, *panel.cells), panel, axes)
            page.write(panel.title, left, top, fontsize=_TITLE_FONT)
            left += panel.width + _GAP
        top += height + _GAP
    length = min(_BAR_LENGTH[1], heights[0] - tops[0])
    colour_bar(page, cells_end + _GAP / 2, _MARGIN + tops[0], length, font=_TOKEN_FONT - 1)
    page.figure.shown = [matrix(one.weights, one.target, one.source, one.title, axes) for one in panels]
    return page.figure


def _cells_end(row: list[_Panel]) -> float:
    """Where the cells of a row end at the right."""
    *before, last = row
    return sum(panel.width + _GAP for panel in before) + last.left + last.cells[0]


def _rows(panels: list[_Panel]) -> list[list[_Panel]]:
    """Panels in order, as many in a row as fit."""
    rows: list[list[_Panel]] = []
    used = 0.0
    for panel in panels:
        if not rows or used + panel.width > _ROW:
            rows.append([])
            used = 0.0
        rows[-1].append(panel)
        used += panel.width + _GAP
    return rows


def _draw(axes: Axes, panel: _Panel, names: tuple[str, str]) -> None:
    if panel.weights.size:
        axes.pcolormesh(panel.weights, cmap=COLOURS, norm=SCALE, edgecolors="0.9", linewidth=0.5)
    frame_cells(axes, len(panel.target), len(panel.source))
    label_cells(axes, panel.target, panel.source, font=_TOKEN_FONT)
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, pad=3)
    rows, columns = names
    axes.set_xlabel(columns, fontsize=_TOKEN_FONT, color="0.4")
    axes.set_ylabel(rows, fontsize=_TOKEN_FONT, color="0.4")
