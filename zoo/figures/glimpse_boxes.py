"""An agent's path over an image: a box around the pixels of each glimpse, and the order of the steps."""

import math
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from zoo.figures.number_places import nearest, number_places
from zoo.figures.pixels import Array

Colour = tuple[float, float, float, float]

NUMBER_RADIUS = 0.085  # inches, of the disc behind a step's number
NUMBER_FONT = 7.0

# Bright, since images are mostly dark, and lighter from step to step, so that the colour-blind see the order.
_COLOURS = colormaps["plasma"]
_FIRST_COLOUR, _LAST_COLOUR = 0.4, 0.95
_DARK = 1.45  # sum of red, green and blue below which a number is white
_OUTLINE = "black"  # so that a line can be seen on bright pixels, too


def step_colours(steps: int) -> list[Colour]:
    """A colour for each step, in order."""
    return [_COLOURS(at) for at in np.linspace(_FIRST_COLOUR, _LAST_COLOUR, steps).tolist()]


def places(locations: ArrayLike, height: int, width: int) -> Array:
    """Locations in the image: `(T, 2)`, (x, y) in pixels from its upper left corner.

    Args:
        locations: `(T, 2)`, (x, y) in [-1, 1], the image's outer edges.
        height: of the image, in pixels.
        width: of the image, in pixels.
    """
    given = np.asarray(locations)
    if given.dtype not in (np.float32, np.float64):
        given = given.astype(np.float32)
    # In the sensor's precision, since it rounds at half a pixel.
    centres: Array = (given + 1) / 2 * np.array([width, height], given.dtype)
    return centres


def boxes(locations: ArrayLike, height: int, width: int, *, size: int, scales: int) -> Array:
    """The pixels that a `zoo.attention.GlimpseSensor` reads: `(T, k, 4)`, whole numbers.

    The last axis is left, top, right and bottom; pixel i lies between i and i + 1. Outside of the image the
    sensor reads zeros.

    Args:
        locations: `(T, 2)`, (x, y) in [-1, 1].
        height: of the image, in pixels.
        width: of the image, in pixels.
        size: g, pixels of a glimpse along each side.
        scales: k; each scale is twice as wide as the one before.
    """
    centres = places(locations, height, width)[:, None, :]  # (T, 1, 2)
    sides = size * 2 ** np.arange(scales)[:, None]  # (k, 1)
    beyond = (sides % 2 == 1) & (centres == [width, height])  # the outer edge belongs to the last pixel
    half = (sides / 2 + beyond / 2).astype(centres.dtype)
    corners = np.floor(centres - half + 0.5).astype(int)  # (T, k, 2)
    return np.concatenate([corners, corners + sides], -1)


def draw_path(axes: Axes, centres: Array, around: Array, radius: float) -> None:
    """Draws boxes, arrows from step to step and the steps' numbers; later steps lie above earlier ones.

    Args:
        axes: show the image, a unit for each pixel, and have their final limits.
        centres: `(T, 2)`, see `places`.
        around: `(T, k, 4)`, see `boxes`.
        radius: of the disc behind a number, in pixels of the image.
    """
    # Added as artists: `add_patch` and `add_line` compute the limits anew each time.
    colours = step_colours(len(centres))
    for colour, scales in zip(colours, around.tolist(), strict=True):
        for scale, (left, top, right, bottom) in enumerate(scales):
            axes.add_artist(
                Rectangle(
                    (left, top),
                    right - left,
                    bottom - top,
                    fill=False,
                    edgecolor=colour,
                    joinstyle="miter",
                    linestyle="solid" if scale == 0 else (0, (5, 3)),
                    alpha=1.0 if scale == 0 else 0.5,  # many of them would hide the image
                    zorder=3 if scale == 0 else 2,
                    **_width(1.3 if scale == 0 else 0.7),
                )
            )
    for colour, here, there in zip(colours[1:], centres, centres[1:], strict=False):
        if math.dist(here, there) > radius:  # shorter ones would be all head
            style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
            style |= {"posA": tuple(here), "posB": tuple(there), **_width(1.1)}
            axes.add_artist(FancyArrowPatch(color=colour, zorder=4, **style))
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    finest = around[:, 0].tolist()
    numbers = number_places(finest, radius, (left, top, right, bottom))
    for step, (colour, box, place) in enumerate(zip(colours, finest, numbers, strict=True)):
        leader = zip(nearest(place, box), place, strict=True)
        axes.add_artist(Line2D(*leader, color=colour, zorder=5, **_width(0.7)))
        draw_number(axes, place, radius, step, colour)


def draw_number(axes: Axes, place: tuple[float, float], radius: float, step: int, colour: Colour) -> None:
    """Draws a step's number, counted from 1, on a disc of its colour."""
    axes.add_artist(Circle(place, radius, facecolor=colour, edgecolor=_OUTLINE, linewidth=0.6, zorder=6))
    ink = "white" if sum(colour[:3]) < _DARK else "black"
    style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": NUMBER_FONT, "zorder": 7}
    axes.text(*place, str(step + 1), color=ink, **style)


def _width(points: float) -> dict[str, Any]:
    """A line's width, and its outline against a bright background."""
    outline = withStroke(linewidth=points + 0.9, foreground=_OUTLINE, alpha=0.5)
    return {"linewidth": points, "path_effects": [outline]}
