"""Where the texts of a figure lie, and that nothing overlaps."""

from collections.abc import Iterable
from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from zoo.figures.labels import any_script


def labels(axes: Axes, which: str) -> list[str]:
    """The labels of the ticks of the x or y axis."""
    return [label.get_text() for label in getattr(axes, f"get_{which}ticklabels")()]


def texts(figure: Figure) -> list[Text]:
    """All texts of the figure and its axes."""
    found = [*figure.texts]
    for axes in figure.axes:
        found += [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()]
        found += [axes.title, axes.xaxis.label, axes.yaxis.label]
    return found


def extents(figure: Figure, found: Iterable[Text]) -> list[Bbox]:
    """Where texts are drawn, in pixels."""
    with any_script():
        figure.draw_without_rendering()
        return [text.get_window_extent() for text in found if text.get_text()]


def assert_apart(boxes: Iterable[Bbox]) -> None:
    """No two boxes overlap."""
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def assert_inside(figure: Figure, boxes: Iterable[Bbox]) -> None:
    """All boxes lie on the figure."""
    page = figure.bbox
    for box in boxes:
        assert page.x0 <= box.x0 <= box.x1 <= page.x1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1
