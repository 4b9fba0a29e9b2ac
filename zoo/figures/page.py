"""A figure whose parts are placed in inches."""

from typing import Any

from matplotlib.axes import Axes

from zoo.figures.labels import text_style
from zoo.figures.shown import ShowingFigure

DPI = 120
MOST_PIXELS = 2900  # along the longer side; a larger figure gets fewer dots per inch


class Page:
    """A white figure on which places are distances in inches from the upper left corner.

    Args:
        across: width of the figure.
        down: height of the figure.
    """

    def __init__(self, across: float, down: float) -> None:
        self.across, self.down = across, down
        dpi = min(DPI, MOST_PIXELS / max(across, down))
        self.figure = ShowingFigure(figsize=(across, down), dpi=dpi, facecolor="white")

    def axes(self, left: float, top: float, wide: float, high: float) -> Axes:
        """Adds axes with this upper left corner and this size."""
        corner = left / self.across, 1 - (top + high) / self.down
        return self.figure.add_axes((*corner, wide / self.across, high / self.down))

    def write(self, text: str, left: float, top: float, **style: Any) -> None:
        """Adds text, by default with its upper left corner at this place; no text adds nothing."""
        if text:
            style = {"va": "top", **text_style(), **style}
            self.figure.text(left / self.across, 1 - top / self.down, text, **style)
