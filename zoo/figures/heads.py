"""What every head of every layer attended to in one sentence."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from zoo.figures.labels import families, shortened, width

# All lengths in inches, all fonts in points.
_CELL = 0.25  # at most: cells shrink where a panel, or all of them, would become too wide
_PANEL = 3.2
_SHEET = 18.0  # so that names can still be read when a screen shows it whole
_MARGIN = 0.2
_GAP = 0.14  # between panels
_TICK = 0.1  # between cells and token labels
_NAME = 0.3  # height of the names of heads and layers
_TITLE = 0.55  # height of the title's two lines
_BAR = 0.12  # thickness of the colour bar
_BAR_SPACE = 0.7  # colour bar with its numbers
_BAR_LENGTH = 1.8

_TOKEN_FONT = 8.0
_SMALL_TOKEN_FONT = 5.5  # before tokens go without a label
_TOKEN_HEIGHT = 1.17 / 72  # a token label with the space that it needs, for each point of its font
_NAME_FONT = 10.0
_TITLE_FONT = 11.0
_TOKEN_COLUMNS = 16
_TITLE_COLUMNS = 70
_LEGEND = "rows: queries, columns: keys"
_COLOURS = "Blues"
_SCALE = Normalize(0.0, 1.0)


class Heads(Protocol):
    """One kind of attention in one sentence, as the translation task describes it."""

    @property
    def weights(self) -> Any:
        """`(L, h, Q, K)` in [0, 1]."""

    @property
    def queries(self) -> Sequence[str]:
        """Q tokens that read."""

    @property
    def keys(self) -> Sequence[str]:
        """K tokens that are read."""


def head_grids(maps: Mapping[str, Heads], *, title: str) -> dict[str, Figure]:
    """Draws every kind of attention in one sentence on a figure of its own.

    Args:
        maps: by name, e.g. `encoder`, `decoder` and `cross`.
        title: stands above each, before the name.
    """
    return {
        name: head_grid(found.weights, found.queries, found.keys, title=f"{title}: {name}")
        for name, found in maps.items()
    }


def head_grid(weights: ArrayLike, queries: Sequence[str], keys: Sequence[str], *, title: str = "") -> Figure:
    """Draws the weights of all heads of one sentence: a row of panels for each layer, a column for each head.

    Colours have one scale, 0 to 1, in every panel of every figure. Tokens are named at the left and upper
    panels, in a smaller font where there are many; where not even that fits, every second, third and so on is
    named, with a tick.

    Args:
        weights: `(L, h, Q, K)` in [0, 1].
        queries: Q labels of the rows.
        keys: K labels of the columns.
        title: stands above.

    Raises:
        ValueError: there is no head, or the labels do not fit the weights.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 4 or 0 in values.shape[:2]:
        raise ValueError(f"weights need the shape (layers, heads, queries, keys), got {values.shape}")
    if values.shape[2:] != (len(queries), len(keys)):
        raise ValueError(
            "weights need one row for each query and one column for each key: "
            f"got weights of shape {values.shape}, {len(queries)} queries and {len(keys)} keys"
        )
    layers, heads, rows, columns = values.shape
    longest = max(rows, columns, 1)
    cell = min(_CELL, _PANEL / longest, _SHEET / (longest * max(layers, heads)))
    wide, high = cell * max(columns, 1), cell * max(rows, 1)
    fitting = cell / _TOKEN_HEIGHT
    font = min(fitting, _TOKEN_FONT) if fitting >= _SMALL_TOKEN_FONT else _TOKEN_FONT
    every = max(1, math.ceil(font / fitting))
    query_labels = [shortened(token, _TOKEN_COLUMNS) for token in queries[::every]]
    key_labels = [shortened(token, _TOKEN_COLUMNS) for token in keys[::every]]
    title = shortened(title, _TITLE_COLUMNS)

    # The panels of very short sentences stand as far apart as the names beside them need.
    name = max(width(f"layer {layers}", _NAME_FONT), width(f"head {heads}", _NAME_FONT))
    pitch_across, pitch_down = max(wide, name) + _GAP, max(high, name) + _GAP
    left = _MARGIN + _NAME + _TICK + max((width(label, font) for label in query_labels), default=0.0)
    top = _MARGIN + _NAME + _TICK + max((width(label, font) for label in key_labels), default=0.0)
    top += _TITLE
    panels_across, panels_down = heads * pitch_across - _GAP, layers * pitch_down - _GAP
    text_across = max(width(title, _TITLE_FONT), width(_LEGEND, _TOKEN_FONT))
    across = max(left + panels_across + _BAR_SPACE, _MARGIN + text_across) + _MARGIN
    bar_length = min(_BAR_LENGTH, max(panels_down, _BAR_LENGTH / 2))
    down = top + max(panels_down, bar_length) + _MARGIN
    figure = Figure(figsize=(across, down), dpi=120, facecolor="white")

    def place(from_left: float, from_top: float, wide: float, high: float) -> Axes:
        """New axes, by distances from the figure's upper left corner."""
        return figure.add_axes((from_left / across, 1 - (from_top + high) / down, wide / across, high / down))

    def write(text: str, from_left: float, from_top: float, **style: Any) -> None:
        """Text around a place, by its distances from the figure's upper left corner."""
        style = {"fontfamily": list(families()), "parse_math": False, **style}
        figure.text(from_left / across, 1 - from_top / down, text, **style)

    write(title, _MARGIN, _MARGIN, va="top", fontsize=_TITLE_FONT)
    write(_LEGEND, _MARGIN, _MARGIN + _TITLE - 0.1, va="bottom", fontsize=_TOKEN_FONT, color="0.4")
    for layer in range(layers):
        for head in range(heads):
            axes = place(left + head * pitch_across, top + layer * pitch_down, wide, high)
            _draw(axes, values[layer, head])
            _label(axes, query_labels if head == 0 else [], key_labels if layer == 0 else [], every, font)
    for head in range(heads):
        middle = left + head * pitch_across + wide / 2
        write(f"head {head + 1}", middle, _MARGIN + _TITLE, ha="center", va="top", fontsize=_NAME_FONT)
    for layer in range(layers):
        middle = top + layer * pitch_down + high / 2
        style: dict[str, Any] = {"rotation": 90, "ha": "left", "va": "center", "fontsize": _NAME_FONT}
        write(f"layer {layer + 1}", _MARGIN, middle, **style)
    bar = place(left + panels_across + _BAR_SPACE / 4, top, _BAR, bar_length)
    figure.colorbar(ScalarMappable(_SCALE, _COLOURS), cax=bar, ticks=[0.0, 0.5, 1.0])
    bar.tick_params(labelsize=_TOKEN_FONT, length=2)
    return figure


def _draw(axes: Axes, weights: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    rows, columns = weights.shape
    if weights.size:
        # One image: a mesh of so many cells would take seconds, and megabytes in a PDF.
        axes.imshow(weights, cmap=_COLOURS, norm=_SCALE, aspect="auto", extent=(0, columns, rows, 0))
    axes.set_xlim(0, max(columns, 1))
    axes.set_ylim(max(rows, 1), 0)  # reading order: the first token on top
    for spine in axes.spines.values():
        spine.set_color("0.6")


def _label(axes: Axes, queries: list[str], keys: list[str], every: int, font: float) -> None:
    """Gives the labels to every so many cells of an axis; none to an axis without labels."""
    text: dict[str, Any] = {"fontsize": font, "fontfamily": list(families()), "parse_math": False}
    axes.xaxis.tick_top()
    axes.set_xticks(every * np.arange(len(keys)) + 0.5, keys, rotation=90, **text)
    axes.set_yticks(every * np.arange(len(queries)) + 0.5, queries, **text)
    # Where not all are named, a tick says which one is.
    axes.tick_params(length=2 if every > 1 else 0, pad=2, color="0.6")
