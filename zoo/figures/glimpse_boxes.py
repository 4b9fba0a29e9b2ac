"""One path of glimpses over its image: a line from place to place, and boxes around what was read."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

Array = np.ndarray[Any, np.dtype[Any]]
Colour = tuple[float, ...]

NUMBER_RADIUS = 0.085  # inches, of the disc behind a step's number
NUMBER_FONT = 7.0

# Bright, for images are mostly dark, and ever lighter from the first step to the last, for any eye.
_COLOURS = colormaps["plasma"]
_FIRST_COLOUR, _LAST_COLOUR = 0.4, 0.95
_OUTLINE = "black"  # so that a line can be seen on bright pixels, too
_DIRECTIONS = 24  # in which a number may stand around its place
_FARTHER = 0.6  # from one ring of such places to the next, in radii of a number


def step_colours(steps: int) -> list[Colour]:
    """A colour for each step, in order."""
    return [tuple(_COLOURS(at)) for at in np.linspace(_FIRST_COLOUR, _LAST_COLOUR, steps)]


def places(locations: ArrayLike, height: int, width: int) -> Array:
    """Where locations lie in the image: `(T, 2)`, (x, y) in pixels from its upper left corner.

    Args:
        locations: `(T, 2)`, (x, y) in [-1, 1], the image's outer edges.
        height: of the image, in pixels.
        width: of the image, in pixels.
    """
    given = np.asarray(locations)
    if given.dtype not in (np.float32, np.float64):
        given = given.astype(np.float32)
    # As the sensor computes it, in the same precision: half a pixel is where it rounds.
    found: Array = (given + 1) / 2 * np.array([width, height], given.dtype)
    return found


def boxes(locations: ArrayLike, height: int, width: int, *, size: int, scales: int) -> Array:
    """The pixels that a `zoo.attention.GlimpseSensor` reads: `(T, k, 4)`, whole numbers.

    The last axis is left, top, right and bottom; pixel i lies between i and i + 1. Boxes may stick out of the
    image, where the sensor reads zeros.

    Args:
        locations: `(T, 2)`, (x, y) in [-1, 1].
        height: of the image, in pixels.
        width: of the image, in pixels.
        size: g, pixels of a glimpse along each side.
        scales: k; each scale is twice as wide as the one before.
    """
    centres = places(locations, height, width)[:, None, :]  # (T, 1, 2)
    sides = size * 2 ** np.arange(scales)[:, None]  # (k, 1)
    corners = np.floor(centres - (sides / 2).astype(centres.dtype) + 0.5).astype(int)  # (T, k, 2)
    return np.concatenate([corners, corners + sides], -1)


def draw_path(axes: Axes, centres: Array, around: Array, radius: float) -> None:
    """Draws boxes, arrows from place to place and the steps' numbers; later steps lie above earlier ones.

    Args:
        axes: shows the image, a unit for each pixel; the limits are set.
        centres: `(T, 2)`, see `places`.
        around: `(T, k, 4)`, see `boxes`.
        radius: of the disc behind a number, in pixels of the image.
    """
    colours = step_colours(len(centres))
    for colour, scales in zip(colours, around.tolist(), strict=True):
        for scale, (left, top, right, bottom) in enumerate(scales):
            box = Rectangle((left, top), right - left, bottom - top, fill=False, joinstyle="miter", zorder=2)
            if scale == 0:
                _line(box, colour, 1.4)
                box.set_zorder(3)
            else:
                _line(box, colour, 0.8)
                box.set_linestyle((0, (4, 2)))
            axes.add_patch(box)
    for colour, here, there in zip(colours[1:], centres, centres[1:], strict=False):
        if math.dist(here, there) > radius / 2:  # shorter ones would be all head
            ends = tuple(here), tuple(there)
            arrow = FancyArrowPatch(*ends, shrinkA=0, shrinkB=0, arrowstyle="-|>", mutation_scale=8, zorder=4)
            _line(arrow, colour, 1.2)
            axes.add_patch(arrow)
    numbers = number_places(centres, around[:, 0], radius, axes.get_xlim(), sorted(axes.get_ylim()))
    for step, (colour, centre, place) in enumerate(zip(colours, centres, numbers, strict=True)):
        (leader,) = axes.plot(*zip(centre, place, strict=True), zorder=5)
        _line(leader, colour, 0.8)
        draw_number(axes, place, radius, step, colour)


def draw_number(axes: Axes, place: tuple[float, float], radius: float, step: int, colour: Colour) -> None:
    """Draws a step's number, counted from 1, on a disc of its colour."""
    axes.add_patch(Circle(place, radius, facecolor=colour, edgecolor=_OUTLINE, linewidth=0.6, zorder=6))
    text: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": NUMBER_FONT, "zorder": 7}
    axes.text(*place, str(step + 1), **text)


def number_places(
    centres: Array, finest: Array, radius: float, across: Sequence[float], down: Sequence[float]
) -> list[tuple[float, float]]:
    """Where each step's number stands: near its place, outside its box if it can, and never over another.

    Args:
        centres: `(T, 2)`, see `places`.
        finest: `(T, 4)`, the finest boxes.
        radius: of the disc behind a number.
        across: the least and the greatest x of the drawing.
        down: the least and the greatest y.
    """
    taken: list[tuple[float, float]] = []
    for centre, (left, top, right, bottom) in zip(centres.tolist(), finest.tolist(), strict=True):
        corners = [(x, y) for y in (top, bottom) for x in (left, right)]
        for place in itertools.chain(
            corners, _rings(centre, radius, across[1] - across[0] + down[1] - down[0])
        ):
            inside = all(
                low + radius <= at <= high - radius
                for at, (low, high) in zip(place, (across, down), strict=True)
            )
            if (
                inside
                and all(math.dist(place, other) > 2.1 * radius for other in taken)
                and all(math.dist(place, other) > 1.5 * radius for other in centres.tolist())
            ):
                break
        taken.append(place)
    return taken


def _rings(centre: Sequence[float], radius: float, reach: float) -> Iterator[tuple[float, float]]:
    """Places around a centre, ever farther away."""
    for distance in np.arange(2 * radius, reach, _FARTHER * radius).tolist():
        for angle in np.linspace(0, 2 * math.pi, _DIRECTIONS, endpoint=False).tolist():
            yield centre[0] + distance * math.cos(angle), centre[1] + distance * math.sin(angle)


def _line(artist: Any, colour: Colour, points: float) -> None:
    """Draws an artist's lines, with an outline against what is bright behind them."""
    artist.set(edgecolor=colour) if isinstance(artist, Rectangle) else artist.set(color=colour)
    artist.set_linewidth(points)
    artist.set_path_effects([withStroke(linewidth=points + 1.0, foreground=_OUTLINE, alpha=0.6)])
