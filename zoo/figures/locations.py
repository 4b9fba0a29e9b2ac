"""Where an agent looks over a whole data set."""

import math

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

SATURATED = 0.95
"""A location beyond this, in x or y, lies at the border."""

_PANELS = 12  # of steps
_ROW = 5  # panels in a row
_BINS = 28  # along the image's longer side, at most: small enough to see, large enough to be hit
_PANEL = 1.9  # inches, the longer side
_FONT = 9.0
_TITLE_COLUMNS = 70

_COLOURS = "YlGnBu"
_NOWHERE = "0.93"  # nobody looked there


def location_histogram(locations: ArrayLike, height: int, width: int, *, title: str = "") -> Figure:
    """Draws how often each place was looked at: a panel for each step, and one for all steps together.

    Colours are the logarithm of a share, up to 1: a first look goes to one place in all images, later ones
    to hundreds of places, and on one linear scale for both the later ones would be blank. Grey places were
    never looked at.

    Of more than 12 steps, 12 are shown, evenly spread from the first to the last.

    Args:
        locations: `(T, N, 2)`, (x, y) in [-1, 1] of T looks at each of N images.
        height: of the images, in pixels.
        width: of the images, in pixels.
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

    columns = min(_ROW, len(panels))
    rows = math.ceil(len(panels) / columns)
    pixel = _PANEL / max(height, width)
    size = (columns * (width * pixel + 0.3) + 1.3, rows * (height * pixel + 0.65) + (0.4 if title else 0.1))
    figure = Figure(
        figsize=(max(size[0], 4.0), max(size[1], 2.2)), dpi=120, facecolor="white", layout="constrained"
    )
    # The rarest that there can be: one look of all.
    scale = LogNorm(min(1 / (steps * images), 0.1), 1)
    axes = [figure.add_subplot(rows, columns, place + 1) for place in range(len(panels))]
    for place, (name, found) in zip(axes, panels.items(), strict=True):
        _draw(place, shares(found, height, width), scale, height, width)
        border = (np.abs(found) > SATURATED).any(-1).mean()
        place.set_title(f"{name}\n{100 * border:.1f} % at the border", fontsize=_FONT)
    bar = figure.colorbar(ScalarMappable(scale, _COLOURS), ax=axes, aspect=30, shrink=0.9)
    bar.set_label("share of images", fontsize=_FONT)
    bar.ax.tick_params(labelsize=_FONT - 1)
    if title:
        figure.suptitle(
            shortened(title, _TITLE_COLUMNS), fontsize=12, fontfamily=list(families()), parse_math=False
        )
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


def _draw(axes: Axes, found: Array, scale: LogNorm, height: int, width: int) -> None:
    colours = colormaps[_COLOURS].with_extremes(bad=_NOWHERE)
    seen = np.ma.masked_equal(found, 0)
    axes.imshow(seen, cmap=colours, norm=scale, extent=(0, width, height, 0), interpolation="nearest")
    axes.set_xticks([0, width])
    axes.set_yticks([0, height])
    axes.tick_params(labelsize=_FONT - 2, length=2, color="0.6")
    for spine in axes.spines.values():
        spine.set_color("0.6")
