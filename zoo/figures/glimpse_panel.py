"""An agent's path over one image, checked and ready to be drawn."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from zoo.figures.checks import require_range
from zoo.figures.glimpse_boxes import boxes, places
from zoo.figures.labels import legible, shortened
from zoo.figures.pixels import Array, channels_last, image_pixels

_CLASS_COLUMNS = 20


class Looks(Protocol):
    """Where an agent looked, and its glimpses."""

    @property
    def image(self) -> Any:
        """`(C, H, W)` in [0, 1], grey or red, green and blue."""

    @property
    def locations(self) -> Any:
        """`(T, 2)`, (x, y) in [-1, 1]."""

    @property
    def glimpses(self) -> Any:
        """`(T, k, C, g, g)` in [0, 1]."""


class Path(Looks, Protocol):
    """An agent's path over one image, as its task describes it."""

    @property
    def label(self) -> str | None:
        """The truth, if it is known."""

    @property
    def prediction(self) -> str:
        """The predicted class."""

    @property
    def probability(self) -> float:
        """Of the predicted class."""


class Fall(Looks, Protocol):
    """How an agent followed one ball, as its task describes it; its image holds all moments."""

    @property
    def caught(self) -> bool:
        """Whether the ball was."""


class Panel(NamedTuple):
    """A path as it is drawn.

    Attributes:
        image: `(H, W)` when grey, or `(H, W, 3)`.
        centres: `(T, 2)`, see `zoo.figures.glimpse_boxes.places`.
        boxes: `(T, k, 4)`, see `zoo.figures.glimpse_boxes.boxes`.
        glimpses: `(T, k, g, g)` when grey, or `(T, k, g, g, 3)`.
        verdict: whether the prediction is right; None where that is unknown.
        line: the text above it.
    """

    image: Array
    centres: Array
    boxes: Array
    glimpses: Array
    verdict: bool | None
    line: str


def read_path(path: Path) -> Panel:
    """Checks a path and prepares it.

    Raises:
        ValueError: it is malformed.
    """
    require_range("probability", np.asarray(path.probability), 0, 1)
    line = f"prediction {_class(path.prediction)} ({100 * path.probability:.1f} %)"
    if path.label is not None:
        line += f"   truth {_class(path.label)}"
    return _panel(path, None if path.label is None else path.prediction == path.label, line)


def read_fall(fall: Fall, number: int) -> Panel:
    """Checks the path of a game's ball, counted from 1, and prepares it.

    Raises:
        ValueError: it is malformed.
    """
    return _panel(fall, None, f"ball {number}: {'caught' if fall.caught else 'missed'}")


def _panel(looks: Looks, verdict: bool | None, line: str) -> Panel:
    image, locations, glimpses = map(np.asarray, (looks.image, looks.locations, looks.glimpses))
    pixels = image_pixels(image)
    if locations.ndim != 2 or locations.shape[1] != 2 or not len(locations):
        raise ValueError(f"locations need the shape (T, 2) with T at least 1, got {locations.shape}")
    steps, channels = len(locations), len(image)
    fits = glimpses.ndim == 5 and glimpses.shape[0] == steps and glimpses.shape[2] == channels
    if not fits or glimpses.shape[3] != glimpses.shape[4] or not glimpses.size:
        raise ValueError(
            f"glimpses need the shape (T, k, C, g, g) with T={steps} and C={channels}, got {glimpses.shape}"
        )
    require_range("locations", locations, -1, 1)
    require_range("glimpses", glimpses, 0, 1)
    _, height, wide = image.shape
    return Panel(
        pixels,
        places(locations, height, wide),
        boxes(locations, height, wide, size=glimpses.shape[-1], scales=glimpses.shape[1]),
        channels_last(glimpses),
        verdict,
        line,
    )


def _class(name: str) -> str:
    return shortened(legible(name), _CLASS_COLUMNS)
