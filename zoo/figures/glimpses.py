"""What an agent looked at: its path over each image, and what its sensor saw at every step."""

import math
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from zoo.figures.glimpse_boxes import NUMBER_RADIUS, Array, draw_number, draw_path, step_colours
from zoo.figures.glimpse_panel import Fall, Panel, Path, read_fall, read_path
from zoo.figures.labels import families, shortened, width

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
_DPI = 120
_PIXELS = 2900  # of a whole figure's longer side, at most

_TITLE_FONT = 13.0
_HEADING_FONT = 12.0
_LINE_FONT = 9.0
_SIDE_FONT = 7.0
_TITLE_COLUMNS = 70


# Of Okabe and Ito's colours, which eyes of every kind tell apart.
_VERDICTS: dict[bool, tuple[str, str]] = {True: ("right", "#0072B2"), False: ("wrong", "#D55E00")}
_GREYS = Normalize(0.0, 1.0)
_OUTSIDE = "0.9"  # grey of what is no image


def glimpse_sheet(groups: Mapping[str, Sequence[Path]], *, title: str = "") -> Figure:
    """Draws the paths of an agent over its images, as figure 3 of Mnih et al. 2014 does.

    On the left is the image, and what lies around it as far as the sensor reached. Boxes hold exactly the
    pixels that were read, solid for the finest scale and dashed for coarser ones. On the right is what the
    sensor saw: a column for each step, under its number and in its colour, and a row for each scale.

    Args:
        groups: paths of one agent by their heading, e.g. the right and the wrong ones; an empty group is left
            out.
        title: stands above all.

    Raises:
        ValueError: there is no path, one does not fit its description, or their sizes differ.
    """
    return _sheet({heading: [*map(read_path, paths)] for heading, paths in groups.items()}, title)


def game_sheet(games: Mapping[str, Sequence[Fall]], *, title: str = "") -> Figure:
    """Draws what an agent did in games of falling balls, a path for each ball; see `glimpse_sheet`.

    An image holds all moments of a ball's fall: ball and paddle grow brighter from the first to the last.

    Args:
        games: by their heading, how the balls of one were followed, in order.
        title: stands above all.

    Raises:
        ValueError: there is no ball, one does not fit its description, or their sizes differ.
    """
    return _sheet({heading: [*map(read_fall, falls, count(1))] for heading, falls in games.items()}, title)


def _sheet(groups: Mapping[str, Sequence[Panel]], title: str) -> Figure:
    """All panels under their headings, an empty group left out."""
    read = {heading: panels for heading, panels in groups.items() if panels}
    if not read:
        raise ValueError("a sheet of glimpses needs at least one path, got none")
    every = [panel for panels in read.values() for panel in panels]
    for panel in every:
        for what in ("image", "glimpses"):
            first, other = (getattr(one, what).shape for one in (every[0], panel))
            if first != other:
                raise ValueError(f"a sheet needs {what} of one shape, got {first} and {other}")
    layout = _layout(every)
    columns = _columns([len(panels) for panels in read.values()], layout)
    title = shortened(title, _TITLE_COLUMNS)
    across = max(columns * (layout.width + _GAP) - _GAP, width(title, _TITLE_FONT)) + 2 * _MARGIN
    top = _MARGIN + (_TITLE if title else 0)
    down = top + _down(columns, [len(panels) for panels in read.values()], layout) + _MARGIN
    figure = Figure(figsize=(across, down), dpi=min(_DPI, _PIXELS / max(across, down)), facecolor="white")
    sheet = _Sheet(figure, across, down)
    sheet.write(title, _MARGIN, _MARGIN, fontsize=_TITLE_FONT)
    for heading, panels in read.items():
        sheet.write(shortened(heading, _TITLE_COLUMNS), _MARGIN, top, fontsize=_HEADING_FONT, color="0.3")
        sheet.rule(top + _HEADING - 0.12)
        top += _HEADING
        for number, panel in enumerate(panels):
            row, column = divmod(number, columns)
            from_left, from_top = _MARGIN + column * (layout.width + _GAP), top + row * (layout.height + _GAP)
            _draw(sheet, panel, layout, from_left, from_top)
        top += math.ceil(len(panels) / columns) * (layout.height + _GAP)
    return figure


class _Layout(NamedTuple):
    """Sizes that the panels of a sheet share: `view` is left, top, right and bottom in pixels of an image."""

    view: tuple[float, float, float, float]
    pixel: float
    glimpse: float
    width: float
    height: float


class _Sheet(NamedTuple):
    """A figure on which places are distances from its upper left corner."""

    figure: Figure
    across: float
    down: float

    def axes(self, left: float, top: float, wide: float, high: float) -> Axes:
        place = (left / self.across, 1 - (top + high) / self.down, wide / self.across, high / self.down)
        return self.figure.add_axes(place)

    def write(self, text: str, left: float, top: float, **style: Any) -> None:
        style = {"va": "top", "fontfamily": list(families()), "parse_math": False, **style}
        if text:
            self.figure.text(left / self.across, 1 - top / self.down, text, **style)

    def rule(self, top: float) -> None:
        ends = (_MARGIN / self.across, 1 - _MARGIN / self.across)
        height = 1 - top / self.down
        self.figure.add_artist(Line2D(ends, (height, height), color="0.75", linewidth=0.8))


def _layout(panels: Sequence[Panel]) -> _Layout:
    """All images have one scale, and room for every box and number."""
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
    lines = max(width(panel.line, _LINE_FONT) + _VERDICT for panel in panels)
    return _Layout(
        view,
        pixel,
        glimpse,
        width=max(image_wide + seen, lines),
        height=_LINE + max(image_high, _NUMBERS + scales * (glimpse + _BETWEEN)),
    )


def _columns(numbers: Sequence[int], layout: _Layout) -> int:
    """As many as make the sheet's longer side the shortest."""

    def longer(columns: int) -> float:
        return max(columns * (layout.width + _GAP), _down(columns, numbers, layout))

    return min(range(1, max(numbers) + 1), key=longer)


def _down(columns: int, numbers: Sequence[int], layout: _Layout) -> float:
    """Height of all groups of so many paths, with their headings."""
    rows = sum(math.ceil(number / columns) for number in numbers)
    return len(numbers) * _HEADING + rows * (layout.height + _GAP) - _GAP


def _draw(sheet: _Sheet, panel: Panel, layout: _Layout, left: float, top: float) -> None:
    """One path, its upper left corner at this place."""
    indent = 0.0
    if panel.verdict is not None:
        word, colour = _VERDICTS[panel.verdict]
        sheet.write(word, left, top, fontsize=_LINE_FONT, fontweight="bold", color=colour)
        indent = _VERDICT
    sheet.write(panel.line, left + indent, top, fontsize=_LINE_FONT)
    top += _LINE
    x0, y0, x1, y1 = layout.view
    wide, high = (x1 - x0) * layout.pixel, (y1 - y0) * layout.pixel
    body = layout.height - _LINE
    axes = sheet.axes(left, top + (body - high) / 2, wide, high)
    _show(axes, panel.image, (0, panel.image.shape[1], panel.image.shape[0], 0))
    _frame(axes, (x0, x1), (y1, y0))
    axes.set_facecolor(_OUTSIDE)
    draw_path(axes, panel.centres, panel.boxes, NUMBER_RADIUS / layout.pixel)
    _draw_seen(sheet, panel, layout, left + wide, top)


def _draw_seen(sheet: _Sheet, panel: Panel, layout: _Layout, left: float, top: float) -> None:
    """What the sensor saw; units of these axes are inches."""
    steps, scales = panel.glimpses.shape[:2]
    pitch = layout.glimpse + _BETWEEN
    wide, high = _SIDES + steps * pitch, _NUMBERS + scales * pitch
    body = layout.height - _LINE
    axes = sheet.axes(left, top + (body - high) / 2, wide, high)
    for step, colour in enumerate(step_colours(steps)):
        x = _SIDES + step * pitch
        draw_number(axes, (x + layout.glimpse / 2, _NUMBERS / 2), NUMBER_RADIUS, step, colour)
        for scale in range(scales):
            y = _NUMBERS + scale * pitch
            _show(axes, panel.glimpses[step, scale], (x, x + layout.glimpse, y + layout.glimpse, y))
            frame = Rectangle((x, y), layout.glimpse, layout.glimpse, fill=False, edgecolor=colour)
            axes.add_artist(frame)
    for scale, (x0, _, x1, _) in enumerate(panel.boxes[0].tolist()):
        middle = _NUMBERS + scale * pitch + layout.glimpse / 2
        style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": _SIDE_FONT, "color": "0.4"}
        axes.text(_SIDES - 0.08, middle, f"{x1 - x0}×{x1 - x0}", **style)
    _frame(axes, (0, wide), (high, 0))
    axes.set_axis_off()


def _show(axes: Axes, pixels: Array, extent: tuple[float, float, float, float]) -> None:
    image = AxesImage(axes, cmap="gray", norm=_GREYS, extent=extent)
    image.set_data(pixels)
    axes.add_artist(image)


def _frame(axes: Axes, across: tuple[float, float], down: tuple[float, float]) -> None:
    axes.set_xlim(*across)
    axes.set_ylim(*down)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("0.6")
