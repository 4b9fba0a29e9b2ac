"""Curves in a terminal, drawn with the dots of Braille signs: two across and four up in each sign."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from rich.text import Text

from zoo.core.readable import readable

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot in a sign, by row from above and column."""
_BRAILLE = 0x2800

Points = Sequence[tuple[float, float]]
"""Steps, in order, and values."""


def plot(curves: Mapping[str, Points], *, width: int, height: int) -> list[Text]:
    """Lines of a terminal with the curves above an axis of steps.

    Args:
        curves: by the colour in which each is drawn, a style of rich; only finite values are.
        width: columns, with the numbers at the left.
        height: lines above the axis.

    Returns:
        No lines where there is nothing to draw.
    """
    drawn = {
        style: [point for point in points if math.isfinite(point[1])] for style, points in curves.items()
    }
    drawn = {style: points for style, points in drawn.items() if points}
    if not drawn:
        return []
    values = [value for points in drawn.values() for _, value in points]
    steps = [step for points in drawn.values() for step, _ in points]
    low, high, last = min(values), max(values), max(steps)
    if low == high:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    labels = [readable(high), readable((low + high) / 2), readable(low)]
    beside = max(map(len, labels))
    across = max(width - beside - 2, 2)
    signs = [[0] * across for _ in range(height)]
    styles = [[""] * across for _ in range(height)]
    for style, points in drawn.items():
        places = [
            (step / (last or 1) * (2 * across - 1), (high - value) / (high - low) * (4 * height - 1))
            for step, value in points
        ]
        for column, row in _dots(places):
            signs[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
            styles[row // 4][column // 2] = style
    lines = []
    for number in range(height):
        at = {0: labels[0], (height - 1) // 2: labels[1], height - 1: labels[2]}
        line = Text(f"{at.get(number, ''):>{beside}} │")
        for sign, style in zip(signs[number], styles[number], strict=True):
            line.append(chr(_BRAILLE | sign) if sign else " ", style=style)
        lines.append(line)
    end = f"step {last:,}"
    lines.append(Text(f"{'':>{beside}} └{end:─>{across}}"[:width]))
    return lines


def _dots(places: Sequence[tuple[float, float]]) -> set[tuple[int, int]]:
    """The dots of lines through these places."""
    found = {(round(column), round(row)) for column, row in places}
    for (left, above), (right, below) in pairwise(places):
        count = max(round(abs(right - left)), round(abs(below - above)))
        for part in range(1, count):
            found.add(
                (round(left + (right - left) * part / count), round(above + (below - above) * part / count))
            )
    return found
