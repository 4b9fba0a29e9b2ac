"""Where an agent looks over a whole data set."""

import math
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from zoo.figures.checks import within
from zoo.figures.glimpse_boxes import Array
from zoo.figures.labels import families, shortened
from zoo.figures.labels import width as text_width

_PANELS = 12  # of steps
_ROW = 5  # panels in a row
_BINS = 28  # along the image's longer side, at most: small enough to see, large enough to be hit

# All lengths in inches, all fonts in points.
_PANEL = 1.9  # the longer side
_NAME = 0.42  # height of a panel's title
_GAP = 0.4  # between panels, with the numbers there
_MARGIN = 0.2
_TITLE = 0.35
_BAR = 0.12  # thickness of the colour bar
_BAR_SPACE = 1.0  # colour bar with its numbers
_FONT = 9.0
_TITLE_FONT = 12.0
_TITLE_COLUMNS = 70

_COLOURS = "YlGnBu"
_NOWHERE = "0.93"  # nobody looked there


def location_histogram(
    locations: ArrayLike, height: int, width: int, *, border: float, title: str = ""
) -> Figure:
    """Draws how often each place was looked at: a panel for each step, and one for all steps together.

    Colours are the logarithm of a share, up to 1: a first look goes to one place in all images, later ones
    to hundreds of places, and on one linear scale for both the later ones would be blank. Grey places were
    never looked at.

    Of more than 12 steps, 12 are shown, evenly spread from the first to the last.

    Args:
        locations: `(T, N, 2)`, (x, y) in [-1, 1] of T looks at each of N images.
        height: of the images, in pixels.
        width: of the images, in pixels.
        border: a location beyond this, in x or y, counts as one at the border.
        title: stands above.

    Raises:
        ValueError: there is no location, one is no place in the image, or the image has no area.
    """
    given = np.asarray(locations, dtype=np.float64)
    if given.ndim != 3 or given.shape[2] != 2 or not given.size:
        raise ValueError(f"locations need the shape (T, N, 2), T and N at least 1, got {given.shape}")
    if height < 1 or width < 1:
        raise ValueError(f"an image needs a height and a width of at least 1, got {height} and {width}")
    within("locations", given, -1, 1)
    steps, images, _ = given.shape
    shown = np.unique(np.linspace(0, steps - 1, min(steps, _PANELS)).round().astype(int)).tolist()
    panels = {f"step {step + 1}": given[step] for step in shown}
    panels["all steps"] = given.reshape(-1, 2)

    titles = [f"{name}\n{100 * _beyond(border, found):.1f} % at the border" for name, found in panels.items()]
    rows = math.ceil(len(panels) / _ROW)
    columns = math.ceil(len(panels) / rows)
    pixel = _PANEL / max(height, width)
    wide, high = width * pixel, height * pixel
    title = shortened(title, _TITLE_COLUMNS)
    line = max(text_width(line, _FONT) for text in titles for line in text.split("\n"))
    pitch_across, pitch_down = max(wide, line) + _GAP, high + _NAME + _GAP
    top = _MARGIN + (_TITLE if title else 0)
    bar_length = max(rows * pitch_down - _GAP - _NAME, _PANEL)
    across = max(columns * pitch_across + _BAR_SPACE, text_width(title, _TITLE_FONT)) + 2 * _MARGIN
    down = top + _NAME + bar_length + _GAP + _MARGIN
    figure = Figure(figsize=(across, down), dpi=120, facecolor="white")

    def place(from_left: float, from_top: float, wide: float, high: float) -> Axes:
        """New axes, by distances from the figure's upper left corner."""
        return figure.add_axes((from_left / across, 1 - (from_top + high) / down, wide / across, high / down))

    # The rarest that there can be: one look of all.
    scale = LogNorm(min(1 / (steps * images), 0.1), 1)
    for number, (text, found) in enumerate(zip(titles, panels.values(), strict=True)):
        row, column = divmod(number, columns)
        from_left = _MARGIN + column * pitch_across + (pitch_across - wide) / 2
        axes = place(from_left, top + _NAME + row * pitch_down, wide, high)
        _draw(axes, shares(found, height, width), scale, height, width)
        axes.set_title(text, fontsize=_FONT)
    bar = place(_MARGIN + columns * pitch_across + _GAP, top + _NAME, _BAR, bar_length)
    figure.colorbar(ScalarMappable(scale, _COLOURS), cax=bar)
    bar.set_ylabel("share of images", fontsize=_FONT)
    bar.tick_params(labelsize=_FONT - 1)
    style: dict[str, Any] = {"fontsize": _TITLE_FONT, "fontfamily": list(families()), "parse_math": False}
    if title:
        figure.text(_MARGIN / across, 1 - _MARGIN / down, title, va="top", **style)
    return figure


def shares(locations: Array, height: int, width: int) -> Array:
    """The share of locations in each cell of a grid over the image, row by row; they sum to 1.

    Cells are squares of whole pixels where the image's sides allow it, and always equally large.

    Args:
        locations: `(N, 2)`, (x, y) in [-1, 1].
        height: of the image, in pixels.
        width: of the image, in pixels.
    """
    side = math.ceil(max(height, width) / _BINS)
    cells = [max(1, round(extent / side)) for extent in (height, width)]
    inside = locations.clip(-1, 1)  # rounding must not lose a look at the rim
    counts, _, _ = np.histogram2d(inside[:, 1], inside[:, 0], bins=cells, range=[[-1, 1], [-1, 1]])
    found: Array = counts / len(locations)
    return found


def _beyond(border: float, locations: Array) -> float:
    """The share of locations at the border."""
    return float((np.abs(locations) > border).any(-1).mean())


def _draw(axes: Axes, found: Array, scale: LogNorm, height: int, width: int) -> None:
    colours = colormaps[_COLOURS].with_extremes(bad=_NOWHERE)  # the logarithm of 0
    axes.imshow(found, cmap=colours, norm=scale, extent=(0, width, height, 0), interpolation="nearest")
    axes.set_xticks([0, width])
    axes.set_yticks([0, height])
    axes.tick_params(labelsize=_FONT - 2, length=2, color="0.6")
    for spine in axes.spines.values():
        spine.set_color("0.6")
