"""An agent's path over one image, checked and ready to be drawn."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from zoo.figures.checks import within
from zoo.figures.glimpse_boxes import Array, boxes, places
from zoo.figures.labels import legible, shortened

_CLASS_COLUMNS = 20


class Looks(Protocol):
    """Where an agent looked, and what it saw there."""

    @property
    def image(self) -> Any:
        """`(C, H, W)` in [0, 1], grey or red, green and blue."""

    @property
    def locations(self) -> Any:
        """`(T, 2)`, (x, y) in [-1, 1]."""

    @property
    def glimpses(self) -> Any:
        """`(T, k, C, g, g)` in [0, 1], what the sensor saw."""


class Path(Looks, Protocol):
    """What an agent did with one image, as the recognition task describes it."""

    @property
    def label(self) -> str | None:
        """The truth, if it is known."""

    @property
    def prediction(self) -> str:
        """The class that was chosen."""

    @property
    def probability(self) -> float:
        """That it was given."""


class Fall(Looks, Protocol):
    """How an agent followed one ball, as the tracking task describes it; its image holds all moments."""

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
        verdict: whether the prediction is right; None where nobody knows.
        line: what is said above it.
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
        ValueError: it does not fit its description.
    """
    within("probability", np.asarray(path.probability), 0, 1)
    line = f"prediction {_class(path.prediction)} ({100 * path.probability:.1f} %)"
    if path.label is not None:
        line += f"   truth {_class(path.label)}"
    return _panel(path, None if path.label is None else path.prediction == path.label, line)


def read_fall(fall: Fall, number: int) -> Panel:
    """Checks how a ball was followed, the game's first having the number 1, and prepares it.

    Raises:
        ValueError: it does not fit its description.
    """
    return _panel(fall, None, f"ball {number}: {'caught' if fall.caught else 'missed'}")


def _panel(looks: Looks, verdict: bool | None, line: str) -> Panel:
    image, locations = np.asarray(looks.image), np.asarray(looks.locations)
    glimpses = np.asarray(looks.glimpses)
    if image.ndim != 3 or image.shape[0] not in (1, 3) or not image.size:
        raise ValueError(f"an image needs the shape (C, H, W) with C 1 or 3, got {image.shape}")
    if locations.ndim != 2 or locations.shape[1] != 2 or not len(locations):
        raise ValueError(f"locations need the shape (T, 2) with T at least 1, got {locations.shape}")
    steps, channels = len(locations), len(image)
    fits = glimpses.ndim == 5 and glimpses.shape[0] == steps and glimpses.shape[2] == channels
    if not fits or glimpses.shape[3] != glimpses.shape[4] or not glimpses.size:
        raise ValueError(
            f"glimpses need the shape (T, k, C, g, g) with T={steps} and C={channels}, got {glimpses.shape}"
        )
    within("image", image, 0, 1)
    within("locations", locations, -1, 1)
    within("glimpses", glimpses, 0, 1)
    _, height, wide = image.shape
    return Panel(
        _channels_last(image),
        places(locations, height, wide),
        boxes(locations, height, wide, size=glimpses.shape[-1], scales=glimpses.shape[1]),
        _channels_last(glimpses),
        verdict,
        line,
    )


def _class(name: str) -> str:
    return shortened(legible(name), _CLASS_COLUMNS)


def _channels_last(pixels: Array) -> Array:
    """`(..., C, H, W)` to `(..., H, W, 3)`, or to `(..., H, W)` when C is 1; in [0, 1]."""
    pixels = pixels.astype(np.float32).clip(0, 1)
    return pixels[..., 0, :, :] if pixels.shape[-3] == 1 else np.moveaxis(pixels, -3, -1)
