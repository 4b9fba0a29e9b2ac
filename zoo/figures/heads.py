"""What every head of every layer attended to in one sentence."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
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
_CELL = 0.25  # at most: cells shrink where a panel or the whole figure would become too wide
_PANEL = 3.2
_SHEET = 18.0  # so that names can still be read when a screen shows it whole
_MARGIN = 0.2
_GAP = 0.14  # between panels
_TICK = 0.1  # between cells and token labels
_NAME = 0.3  # height of the names of heads and layers
_TITLE = 0.55  # height of the title's two lines
_BAR_SPACE = 0.7  # colour bar with its numbers
_BAR_LENGTH = 1.8

_TOKEN_FONT = 8.0
_SMALL_TOKEN_FONT = 5.5  # the smallest; where that does not fit, only some tokens are labelled
_TOKEN_HEIGHT = 1.17 / 72  # height of a token label with its spacing, for each point of its font
_NAME_FONT = 10.0
_TITLE_FONT = 11.0
_LEGEND = "rows: queries, columns: keys"


class Heads(Protocol):
    """One kind of attention in one sentence, as its task describes it."""

    @property
    def weights(self) -> Any:
        """`(L, h, Q, K)` in [0, 1]."""

    @property
    def queries(self) -> Sequence[str]:
        """Q tokens, one for each row."""

    @property
    def keys(self) -> Sequence[str]:
        """K tokens, one for each column."""


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

    All panels have one colour scale, 0 to 1. The left and upper panels name the tokens, in a smaller font
    where there are many; where that does not fit either, ticks mark every second, third ... token.

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
    query_labels, key_labels = token_labels(queries[::every]), token_labels(keys[::every])
    title = shortened(title, TITLE_COLUMNS)

    # The panels of very short sentences stand as far apart as the names beside them need.
    name = widest([f"layer {layers}", f"head {heads}"], _NAME_FONT)
    pitch_across, pitch_down = max(wide, name) + _GAP, max(high, name) + _GAP
    left = _MARGIN + _NAME + _TICK + widest(query_labels, font)
    top = _MARGIN + _NAME + _TICK + tallest(key_labels, font)
    top += _TITLE
    panels_across, panels_down = heads * pitch_across - _GAP, layers * pitch_down - _GAP
    title_across = max(text_width(title, _TITLE_FONT), text_width(_LEGEND, _TOKEN_FONT))
    bar_length = min(_BAR_LENGTH, max(panels_down, _BAR_LENGTH / 2))
    page = Page(
        max(left + panels_across + _BAR_SPACE, _MARGIN + title_across) + _MARGIN,
        top + max(panels_down, bar_length) + _MARGIN,
    )
    page.write(title, _MARGIN, _MARGIN, fontsize=_TITLE_FONT)
    page.write(_LEGEND, _MARGIN, _MARGIN + _TITLE - 0.1, va="bottom", fontsize=_TOKEN_FONT, color="0.4")
    for layer, head in np.ndindex(layers, heads):
        axes = page.axes(left + head * pitch_across, top + layer * pitch_down, wide, high)
        if rows and columns:
            # One image: a mesh of so many cells would take seconds, and megabytes in a PDF.
            extent = (0, columns, rows, 0)
            axes.imshow(values[layer, head], cmap=COLOURS, norm=SCALE, aspect="auto", extent=extent)
        frame_cells(axes, rows, columns)
        named = (query_labels if head == 0 else [], key_labels if layer == 0 else [])
        label_cells(axes, *named, font=font, every=every)
        axes.tick_params(length=2 if every > 1 else 0, pad=2, color="0.6")
    names: dict[str, Any] = {"fontsize": _NAME_FONT, "va": "top", "ha": "center"}
    for head in range(heads):
        page.write(f"head {head + 1}", left + head * pitch_across + wide / 2, _MARGIN + _TITLE, **names)
    names |= {"va": "center", "ha": "left", "rotation": 90}
    for layer in range(layers):
        page.write(f"layer {layer + 1}", _MARGIN, top + layer * pitch_down + high / 2, **names)
    colour_bar(page, left + panels_across + _BAR_SPACE / 4, top, bar_length, font=_TOKEN_FONT)
    labels, axes_named = (token_labels(queries), token_labels(keys)), ("query", "key")
    page.figure.shown = [
        matrix(values[layer, head], *labels, f"layer {layer + 1}, head {head + 1}", axes_named)
        for layer, head in np.ndindex(layers, heads)
    ]
    return page.figure
