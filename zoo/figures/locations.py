"""Where an agent looks over a whole data set."""

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from zoo.figures.checks import require_range
from zoo.figures.labels import text_width
from zoo.figures.page import Page
from zoo.figures.pixels import Array

_PANELS = 12  # of steps
_ROW = 5  # panels in a row
_BINS = 28  # along the image's longer side, at most: cells large enough to be seen and to be hit

# All lengths in inches, all fonts in points.
_PANEL = 1.9  # the longer side
_NAME = 0.42  # height of a panel's title
_GAP = 0.4  # between panels, with the numbers there
_MARGIN = 0.2
_BAR_SPACE = 1.0  # colour bar with its numbers
_FONT = 9.0


def location_histogram(locations: ArrayLike, height: int, width: int, *, border: float) -> Figure:
    """Draws how often each place was looked at: a panel for each step, and one for all steps together.

    Colours are the logarithm of a share: a first look goes to one place in all images, later ones to
    hundreds of places, which a linear scale would leave blank. Grey places were never looked at. Of more than
    12 steps, 12 are shown, evenly spread from the first to the last.

    Args:
        locations: `(T, N, 2)`, (x, y) in [-1, 1] of T looks at each of N images.
        height: of the images, in pixels.
        width: of the images, in pixels.
        border: a location beyond this, in x or y, counts as one at the border.

    Raises:
        ValueError: there is no location, one is out of range, or the image has no area.
    """
    given = np.asarray(locations, dtype=np.float64)
    if given.ndim != 3 or given.shape[2] != 2 or not given.size:
        raise ValueError(f"locations need the shape (T, N, 2), T and N at least 1, got {given.shape}")
    if height < 1 or width < 1:
        raise ValueError(f"an image needs a height and a width of at least 1, got {height} and {width}")
    require_range("locations", given, -1, 1)
    steps, images, _ = given.shape
    shown = np.unique(np.linspace(0, steps - 1, min(steps, _PANELS)).round().astype(int)).tolist()
    panels = {f"step {step + 1}": given[step] for step in shown} | {"all steps": given.reshape(-1, 2)}
    at_border = {name: 100 * (np.abs(found) > border).any(-1).mean() for name, found in panels.items()}
    titles = [f"{name}\n{share:.1f} % at the border" for name, share in at_border.items()]

    rows = math.ceil(len(panels) / _ROW)
    columns = math.ceil(len(panels) / rows)
    pixel = _PANEL / max(height, width)
    wide, high = width * pixel, height * pixel
    line = max(text_width(line, _FONT) for title in titles for line in title.split("\n"))
    pitch_across, pitch_down = max(wide, line) + _GAP, high + _NAME + _GAP
    bar_length = max(rows * pitch_down - _GAP - _NAME, _PANEL)
    top = _MARGIN + _NAME
    page = Page(columns * pitch_across + _BAR_SPACE + 2 * _MARGIN, top + bar_length + _GAP + _MARGIN)
    scale = LogNorm(min(1 / (steps * images), 0.1), 1)  # from a single look
    colours = colormaps["YlGnBu"].with_extremes(bad="0.93")  # the logarithm of 0
    for number, (title, found) in enumerate(zip(titles, panels.values(), strict=True)):
        row, column = divmod(number, columns)
        left = _MARGIN + column * pitch_across + (pitch_across - wide) / 2
        axes = page.axes(left, top + row * pitch_down, wide, high)
        extent, share = (0, width, height, 0), shares(found, height, width)
        axes.imshow(share, cmap=colours, norm=scale, extent=extent, interpolation="nearest")
        axes.set_title(title, fontsize=_FONT)
        axes.set(xticks=[0, width], yticks=[0, height])
        axes.tick_params(labelsize=_FONT - 2, length=2, color="0.6")
        axes.spines[:].set_color("0.6")
    bar = page.axes(_MARGIN + columns * pitch_across + _GAP, top, 0.12, bar_length)
    page.figure.colorbar(ScalarMappable(scale, "YlGnBu"), cax=bar)
    bar.set_ylabel("share of images", fontsize=_FONT)
    bar.tick_params(labelsize=_FONT - 1)
    return page.figure


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
    inside = locations.clip(-1, 1)  # a location that rounding took beyond the rim counts, too
    counts, _, _ = np.histogram2d(inside[:, 1], inside[:, 0], bins=cells, range=[[-1, 1], [-1, 1]])
    found: Array = counts / len(locations)
    return found
