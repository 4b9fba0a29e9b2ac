"""What a model attended to: one cell for each target and source token."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from zoo.figures.labels import families, shortened, width

# All lengths in inches, all fonts in points.
_CELL = 0.25
_MARGIN = 0.2
_GAP = 0.35  # between panels
_TICK = 0.08  # between cells and token labels
_AXIS_LABEL = 0.25  # height of the words "source" and "target"
_TITLE = 0.3  # height of a title's line
_BAR = 0.12  # thickness of the colour bar
_BAR_SPACE = 0.7  # colour bar with its numbers
_BAR_LENGTH = 1.8  # at most
_BAR_LEAST = 0.8
_ROW = 16.0  # panels fill rows of about this width

_TOKEN_FONT = 9.0
_TITLE_FONT = 11.0
_TOKEN_COLUMNS = 16
_TITLE_COLUMNS = 70
_COLOURS = "Blues"
_SCALE = Normalize(0.0, 1.0)


class Aligned(Protocol):
    """One decoded sentence, as a translation describes it."""

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

    Cells have one size and colours one scale, 0 to 1, in every figure; the figure grows with the sentence. A
    row is named by the token that was being written when this was read: the decoder's output of that step,
    whatever its input.

    Args:
        weights: `(T, K)` in [0, 1].
        source_tokens: K labels of the columns, EOS included.
        target_tokens: T labels of the rows, EOS included.
        title: stands above.

    Raises:
        ValueError: the labels do not fit the weights.
    """
    return _sheet([_panel(weights, source_tokens, target_tokens, title)])


def alignment_sheet(items: Sequence[Aligned], titles: Sequence[str] | None = None) -> Figure:
    """Draws several sentences, or one sentence by several models, side by side on one figure.

    Args:
        items: the sentences; each has its own size.
        titles: one above each; without them there are none.

    Raises:
        ValueError: there is nothing to draw, the number of titles is another, or labels do not fit weights.
    """
    if not items:
        raise ValueError("an alignment sheet needs at least one sentence, got none")
    if titles is not None and len(titles) != len(items):
        raise ValueError(f"{len(items)} sentences but {len(titles)} titles")
    named = zip(items, titles or [""] * len(items), strict=True)
    return _sheet([_panel(item.weights, item.source_tokens, item.tokens, title) for item, title in named])


class _Panel(NamedTuple):
    """A drawing and its size: `left` and `top` hold labels and title, `height` is that of the cells alone."""

    weights: np.ndarray[Any, np.dtype[np.float64]]
    source: list[str]
    target: list[str]
    title: str
    left: float
    top: float
    width: float
    height: float


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
    source = [shortened(token, _TOKEN_COLUMNS) for token in source_tokens]
    target = [shortened(token, _TOKEN_COLUMNS) for token in target_tokens]
    title = shortened(title, _TITLE_COLUMNS)
    left = _AXIS_LABEL + _TICK + max((width(token, _TOKEN_FONT) for token in target), default=0.0)
    top = _AXIS_LABEL + _TICK + max((width(token, _TOKEN_FONT) for token in source), default=0.0)
    if title:
        top += _TITLE
    return _Panel(
        values,
        source,
        target,
        title,
        left,
        top,
        width=max(left + _CELL * max(len(source), 1), width(title, _TITLE_FONT)),
        height=_CELL * max(len(target), 1),
    )


def _sheet(panels: list[_Panel]) -> Figure:
    rows = _rows(panels)
    content_width = max(sum(panel.width + _GAP for panel in row) - _GAP for row in rows)
    across = 2 * _MARGIN + content_width + _BAR_SPACE
    tops = [max(panel.top for panel in row) for row in rows]  # the cells of a row begin at one height
    heights = [above + max(panel.height for panel in row) for above, row in zip(tops, rows, strict=True)]
    heights[0] = max(heights[0], tops[0] + _BAR_LEAST)
    down = 2 * _MARGIN + sum(heights) + _GAP * (len(rows) - 1)
    figure = Figure(figsize=(across, down), dpi=120, facecolor="white")

    def place(left: float, top: float, wide: float, high: float) -> Axes:
        """New axes; `left` and `top` are distances from the figure's upper left corner."""
        return figure.add_axes((left / across, 1 - (top + high) / down, wide / across, high / down))

    top = _MARGIN
    for row, above, height in zip(rows, tops, heights, strict=True):
        left = _MARGIN
        for panel in row:
            cells = (_CELL * max(len(panel.source), 1), panel.height)
            _draw(place(left + panel.left, top + above, *cells), panel)
            if panel.title:
                figure.text(
                    left / across,
                    1 - top / down,
                    panel.title,
                    va="top",
                    fontsize=_TITLE_FONT,
                    fontfamily=list(families()),
                    parse_math=False,
                )
            left += panel.width + _GAP
        top += height + _GAP
    length = min(_BAR_LENGTH, heights[0] - tops[0])
    bar = place(across - _MARGIN - _BAR_SPACE + _GAP / 2, _MARGIN + tops[0], _BAR, length)
    figure.colorbar(ScalarMappable(_SCALE, _COLOURS), cax=bar, ticks=[0.0, 0.5, 1.0])
    bar.tick_params(labelsize=_TOKEN_FONT - 1, length=2)
    return figure


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


def _draw(axes: Axes, panel: _Panel) -> None:
    columns, rows = len(panel.source), len(panel.target)
    if panel.weights.size:
        axes.pcolormesh(panel.weights, cmap=_COLOURS, norm=_SCALE, edgecolors="0.9", linewidth=0.5)
    axes.set_xlim(0, max(columns, 1))
    axes.set_ylim(max(rows, 1), 0)  # reading order: the first token on top
    text: dict[str, Any] = {"fontsize": _TOKEN_FONT, "fontfamily": list(families()), "parse_math": False}
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xticks(np.arange(columns) + 0.5, panel.source, rotation=90, **text)
    axes.set_yticks(np.arange(rows) + 0.5, panel.target, **text)
    axes.tick_params(length=0, pad=3)
    axes.set_xlabel("source", fontsize=_TOKEN_FONT, color="0.4")
    axes.set_ylabel("target", fontsize=_TOKEN_FONT, color="0.4")
    for spine in axes.spines.values():
        spine.set_color("0.6")
