"""Where was looked in a whole data set."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from zoo.figures.glimpse_boxes import Array
from zoo.figures.glimpses import within

_PANEL = 1.7  # inches, longer side
_COLUMNS = 7
_CELLS = 28  # along the longer side
_BORDER = 0.95
_DPI = 120


def location_shares(locations: ArrayLike, height: int, width: int) -> Array:
    """The share of looks that fell into each cell of a grid over the image: `(rows, columns)`, its sum is 1.

    Args:
        locations: `(..., 2)`, (x, y) in [-1, 1].
        height: of the image, in pixels.
        width: of the image, in pixels.
    """
    x, y = np.moveaxis(np.asarray(locations), -1, 0)
    longer = max(height, width)
    grid = [max(1, round(_CELLS * side / longer)) for side in (height, width)]
    counts, _, _ = np.histogram2d(y.ravel(), x.ravel(), bins=grid, range=[[-1, 1], [-1, 1]])
    return np.asarray(counts / x.size)


def location_histogram(locations: ArrayLike, height: int, width: int, *, title: str = "") -> Figure:
    """Draws how often each place was looked at, step by step, and in all steps together.

    Colours are logarithmic: the first look goes to one place in every image, later ones spread over many.

    Args:
        locations: `(T, N, 2)`, (x, y) in [-1, 1] of T looks at each of N images.
        height: of the images, in pixels.
        width: of the images, in pixels.
        title: stands above all.

    Raises:
        ValueError: there are no looks, or one lies outside of the image.
    """
    given = np.asarray(locations, dtype=np.float64)
    if given.ndim != 3 or given.shape[-1] != 2 or not given.size:
        raise ValueError(f"locations need the shape (T, N, 2) with T and N at least 1, got {given.shape}")
    within("locations", given, -1, 1)
    panels = {f"look {step}": looks for step, looks in enumerate(given, start=1)}
    if len(panels) > 1:
        panels["all looks"] = given
    shares = {name: location_shares(looks, height, width) for name, looks in panels.items()}
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    wide, high = (_PANEL * side / max(height, width) for side in (width, height))
    size = (columns * (wide + 0.25) + 1.2, rows * (high + 0.5) + (0.4 if title else 0.1))
    figure = Figure(figsize=size, dpi=_DPI, layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, fontsize=12)
    axes = figure.subplots(rows, columns, squeeze=False)
    scale = LogNorm(vmin=0.9 / given[..., 0].size, vmax=1)  # a single look is still seen
    for place, (name, looks) in zip(axes.flat, panels.items(), strict=False):
        place.set_facecolor("0.93")
        place.imshow(np.ma.masked_equal(shares[name], 0), norm=scale, extent=(-1, 1, 1, -1), aspect="auto")
        place.set_box_aspect(height / width)
        at_border = (np.abs(looks) > _BORDER).any(-1).mean()
        place.set_title(f"{name}\n{100 * at_border:.0f} % at the border", fontsize=8)
        _without_ticks(place)
    for place in axes.flat[len(panels) :]:
        place.set_visible(False)
    bar = figure.colorbar(ScalarMappable(scale), ax=axes, fraction=0.05, aspect=12 * rows)
    bar.set_label("share of looks", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure


def _without_ticks(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
