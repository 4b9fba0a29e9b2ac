"""The path of an agent over each image, and its glimpses."""

import math
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from zoo.figures.glimpse_boxes import NUMBER_RADIUS, draw_number, draw_path, step_colours
from zoo.figures.glimpse_panel import Fall, Panel, Path, read_fall, read_path
from zoo.figures.labels import shortened, text_width
from zoo.figures.page import Page
from zoo.figures.pixels import show_pixels

# All lengths in inches, all fonts in points.
_IMAGE = 2.3  # longer side of an image
_REACHED = 3.2  # longer side of an image with its surroundings, at most
_GLIMPSE = (0.5, 0.8)  # side of a glimpse, at least and at most
_BETWEEN = 0.06  # between glimpses
_SIDES = 0.62  # for the widths of the scales, left of the glimpses
_NUMBERS = 0.24  # for the steps' numbers, above the glimpses
_VERDICT = 0.58  # width of a verdict
_LINE = 0.26  # height of the line above a path
_MARGIN = 0.25
_GAP = 0.35  # between paths
_HEADING = 0.42
_TITLE = 0.4

_TITLE_FONT = 13.0
_HEADING_FONT = 12.0
_LINE_FONT = 9.0
_SIDE_FONT = 7.0
_TITLE_COLUMNS = 70

# Of Okabe and Ito's colours, which eyes of every kind tell apart.
_VERDICTS: dict[bool, tuple[str, str]] = {True: ("right", "#0072B2"), False: ("wrong", "#D55E00")}
_OUTSIDE = "0.9"  # grey around an image


def glimpse_sheet(groups: Mapping[str, Sequence[Path]], *, title: str = "") -> Figure:
    """Draws the paths of an agent over its images, as figure 3 of Mnih et al. 2014 does.

    On the left is the image, with its surroundings as far as the sensor reached. Boxes hold exactly the
    pixels that were read, solid for the finest scale and dashed for coarser ones. On the right are the
    glimpses: a column for each step, with its number and colour, and a row for each scale.

    Args:
        groups: paths of one agent by their heading, e.g. the right and the wrong ones; empty groups are left
            out.
        title: stands above all.

    Raises:
        ValueError: there is no path, one is malformed, or their sizes differ.
    """
    return _sheet({heading: [*map(read_path, paths)] for heading, paths in groups.items()}, title)


def game_sheet(games: Mapping[str, Sequence[Fall]], *, title: str = "") -> Figure:
    """Draws an agent's paths in games of falling balls, one for each ball; see `glimpse_sheet`.

    An image holds all moments of a fall: ball and paddle grow brighter from the first to the last.

    Args:
        games: by their heading, the paths of the balls of one game, in order.
        title: stands above all.

    Raises:
        ValueError: there is no ball, one is malformed, or their sizes differ.
    """
    return _sheet({heading: [*map(read_fall, falls, count(1))] for heading, falls in games.items()}, title)


def _sheet(groups: Mapping[str, Sequence[Panel]], title: str) -> Figure:
    """All panels under their headings; empty groups are left out."""
    groups = {heading: panels for heading, panels in groups.items() if panels}
    if not groups:
        raise ValueError("a sheet of glimpses needs at least one path, got none")
    every = [panel for panels in groups.values() for panel in panels]
    for panel in every:
        for what in ("image", "glimpses"):
            first, other = (getattr(one, what).shape for one in (every[0], panel))
            if first != other:
                raise ValueError(f"a sheet needs {what} of one shape, got {first} and {other}")
    layout = _layout(every)

    def size(columns: int) -> tuple[float, float]:
        """Of the sheet without margins and title."""
        rows = sum(math.ceil(len(panels) / columns) for panels in groups.values())
        return columns * (layout.width + _GAP), len(groups) * _HEADING + rows * (layout.height + _GAP) - _GAP

    columns = min(range(1, max(map(len, groups.values())) + 1), key=lambda number: max(size(number)))
    title = shortened(title, _TITLE_COLUMNS)
    top = _MARGIN + (_TITLE if title else 0)
    across, down = size(columns)
    page = Page(max(across - _GAP, text_width(title, _TITLE_FONT)) + 2 * _MARGIN, top + down + _MARGIN)
    page.write(title, _MARGIN, _MARGIN, fontsize=_TITLE_FONT)
    for heading, panels in groups.items():
        page.write(shortened(heading, _TITLE_COLUMNS), _MARGIN, top, fontsize=_HEADING_FONT, color="0.3")
        _rule(page, top + _HEADING - 0.12)
        top += _HEADING
        for number, panel in enumerate(panels):
            row, column = divmod(number, columns)
            left = _MARGIN + column * (layout.width + _GAP)
            _draw(page, panel, layout, left, top + row * (layout.height + _GAP))
        top += math.ceil(len(panels) / columns) * (layout.height + _GAP)
    return page.figure


def _rule(page: Page, top: float) -> None:
    """A line from margin to margin."""
    ends, height = (_MARGIN / page.across, 1 - _MARGIN / page.across), 1 - top / page.down
    page.figure.add_artist(Line2D(ends, (height, height), color="0.75", linewidth=0.8))


class _Layout(NamedTuple):
    """Sizes that the panels of a sheet share: `view` is left, top, right and bottom in pixels of an image."""

    view: tuple[float, float, float, float]
    pixel: float
    glimpse: float
    width: float
    height: float


def _layout(panels: Sequence[Panel]) -> _Layout:
    """All images have one scale, and space for every box and number."""
    height, wide = panels[0].image.shape[:2]
    steps, scales = panels[0].glimpses.shape[:2]
    corners = np.concatenate([panel.boxes.reshape(-1, 4) for panel in panels])
    least, most = corners.min(0).tolist(), corners.max(0).tolist()
    left, top = min(0, least[0]), min(0, least[1])
    right, bottom = max(wide, most[2]), max(height, most[3])
    rim = 2.2 * NUMBER_RADIUS
    pixel = min(_IMAGE / max(height, wide), (_REACHED - 2 * rim) / max(right - left, bottom - top))
    rim /= pixel
    view = (left - rim, top - rim, right + rim, bottom + rim)
    image_wide, image_high = (view[2] - view[0]) * pixel, (view[3] - view[1]) * pixel
    glimpse = float(np.clip((image_high - _NUMBERS) / scales - _BETWEEN, *_GLIMPSE))
    seen = _SIDES + steps * (glimpse + _BETWEEN)
    lines = max(text_width(panel.line, _LINE_FONT) + _VERDICT for panel in panels)
    return _Layout(
        view,
        pixel,
        glimpse,
        width=max(image_wide + seen, lines),
        height=_LINE + max(image_high, _NUMBERS + scales * (glimpse + _BETWEEN)),
    )


def _draw(page: Page, panel: Panel, layout: _Layout, left: float, top: float) -> None:
    """One path, its upper left corner at this place."""
    indent = 0.0
    if panel.verdict is not None:
        word, colour = _VERDICTS[panel.verdict]
        page.write(word, left, top, fontsize=_LINE_FONT, fontweight="bold", color=colour)
        indent = _VERDICT
    page.write(panel.line, left + indent, top, fontsize=_LINE_FONT)
    top += _LINE
    x0, y0, x1, y1 = layout.view
    wide, high = (x1 - x0) * layout.pixel, (y1 - y0) * layout.pixel
    body = layout.height - _LINE
    axes = page.axes(left, top + (body - high) / 2, wide, high)
    height, width = panel.image.shape[:2]
    show_pixels(axes, panel.image, 0, 0, width, height)
    axes.set(xlim=(x0, x1), ylim=(y1, y0), xticks=[], yticks=[], facecolor=_OUTSIDE)
    axes.spines[:].set_color("0.6")
    draw_path(axes, panel.centres, panel.boxes, NUMBER_RADIUS / layout.pixel)

    steps, scales = panel.glimpses.shape[:2]
    seen_wide = _SIDES + steps * (layout.glimpse + _BETWEEN)
    seen_high = _NUMBERS + scales * (layout.glimpse + _BETWEEN)
    axes = page.axes(left + wide, top + (body - seen_high) / 2, seen_wide, seen_high)
    axes.set(xlim=(0, seen_wide), ylim=(seen_high, 0))
    axes.set_axis_off()
    _draw_glimpses(axes, panel, layout.glimpse)


def _draw_glimpses(axes: Axes, panel: Panel, side: float) -> None:
    """The glimpses of all steps and scales; units of the axes are inches."""
    steps, scales = panel.glimpses.shape[:2]
    for step, colour in enumerate(step_colours(steps)):
        x = _SIDES + step * (side + _BETWEEN)
        draw_number(axes, (x + side / 2, _NUMBERS / 2), NUMBER_RADIUS, step, colour)
        for scale in range(scales):
            y = _NUMBERS + scale * (side + _BETWEEN)
            show_pixels(axes, panel.glimpses[step, scale], x, y, side, side)
            axes.add_artist(Rectangle((x, y), side, side, fill=False, edgecolor=colour))
    style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": _SIDE_FONT, "color": "0.4"}
    for scale, (x0, _, x1, _) in enumerate(panel.boxes[0].tolist()):
        middle = _NUMBERS + scale * (side + _BETWEEN) + side / 2
        axes.text(_SIDES - 0.08, middle, f"{x1 - x0}×{x1 - x0}", **style)
