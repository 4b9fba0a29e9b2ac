"""Images at random places of a black canvas (Mnih et al. 2014, section 4), and at random sizes."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch.nn.functional import affine_grid, grid_sample

from data.core.keyed_random import Draws, Keys
from data.images.image_set import Pixels

_STEPS = 2**20
"""Different sizes, and different places in each direction."""


class Canvas(ABC):
    """How images are placed on something larger. A value: what is drawn depends on the keys alone.

    Attributes:
        name: stands before the name of the image set.
        height, width: pixels of the canvas.
    """

    name: ClassVar[str]
    height: int
    width: int

    @abstractmethod
    def check_room(self, height: int, width: int) -> None:
        """Sees that images of this size can be placed.

        Raises:
            ValueError: they cannot.
        """

    @abstractmethod
    def place(self, images: Pixels, keys: Keys, training: Pixels) -> Pixels:
        """Places a batch.

        Args:
            images: `(B, C, h, w)`.
            keys: `(B,)`, of the random numbers for each image.
            training: `(N, C, h, w)`, the images to train on, of which clutter is made.

        Returns:
            `(B, C, H, W)`.
        """


@dataclass(kw_only=True)
class Translated(Canvas):
    """Each image at one place, every place where it is whole inside being as likely as any other.

    Attributes:
        size: height and width of the canvas in pixels.
    """

    name = "translated"
    size: int = 60

    def __post_init__(self) -> None:
        self.height = self.width = self.size

    def check_room(self, height: int, width: int) -> None:
        """See `Canvas`."""
        if self.size < max(height, width):
            raise ValueError(
                f"size must be at least {max(height, width)}, got {self.size}: each picture of"
                f" {height} x {width} pixels is placed whole"
            )

    def place(self, images: Pixels, keys: Keys, training: Pixels) -> Pixels:
        """See `Canvas`."""
        return self._placed(images, Draws(keys))

    def _placed(self, images: Pixels, draws: Draws) -> Pixels:
        canvas = np.zeros((*images.shape[:2], self.height, self.width), dtype=np.uint8)
        height, width = images.shape[2:]
        windows = sliding_window_view(canvas, (height, width), axis=(2, 3), writeable=True)
        windows[somewhere(windows, draws)] = images
        return canvas


@dataclass(kw_only=True)
class Cluttered(Translated):
    """Each image at one place, and square pieces of training images at others.

    A piece is cut out at a random place of a random training image, and added: where the sum of what lies at
    one place exceeds white, it is white. So does the generator that the paper's authors published
    (github.com/google-deepmind/mnist-cluttered); as there, any training image serves, and once in N pieces
    that is the image itself.

    Attributes:
        size: height and width of the canvas in pixels.
        pieces: how many on each canvas.
        piece_size: height and width of a piece in pixels.
    """

    name = "cluttered"
    pieces: int = 4
    piece_size: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("pieces", "piece_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def check_room(self, height: int, width: int) -> None:
        """See `Canvas`."""
        super().check_room(height, width)
        if self.piece_size > min(height, width):
            raise ValueError(
                f"piece_size must be at most {min(height, width)}, got {self.piece_size}: pieces are cut"
                f" out of pictures of {height} x {width} pixels"
            )

    def place(self, images: Pixels, keys: Keys, training: Pixels) -> Pixels:
        """See `Canvas`."""
        draws = Draws(keys)
        canvas = self._placed(images, draws)
        shape = (self.piece_size, self.piece_size)
        there = sliding_window_view(canvas, shape, axis=(2, 3), writeable=True)
        cuts = sliding_window_view(training, shape, axis=(2, 3))
        for _ in range(self.pieces):  # one after the other: pieces of an image may overlap
            _, channels, top, left = somewhere(cuts, draws)
            piece = cuts[draws.below(len(training)), channels, top, left]
            place = somewhere(there, draws)
            below = there[place]
            there[place] = below + np.minimum(piece, ~below)  # ~below is how much fits until white
        return canvas


@dataclass(kw_only=True)
class Scaled(Translated):
    """Each image at a size and a place of its own: an agent that saw one size alone knows no other.

    Attributes:
        size: height and width of the canvas in pixels.
        smallest, largest: of an image, as shares of its height and width; all between are equally likely.
    """

    name = "scaled"
    smallest: float = 0.5
    largest: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.smallest <= self.largest:
            raise ValueError(
                f"smallest must be above 0 and at most largest={self.largest}, got {self.smallest}"
            )

    def check_room(self, height: int, width: int) -> None:
        """See `Canvas`."""
        if self.smallest * min(height, width) < 1:
            raise ValueError(
                f"smallest must be at least {1 / min(height, width):.3g}, got {self.smallest}: of"
                f" {height} x {width} pixels no whole one would be left"
            )
        if self.size < (needed := self.largest * max(height, width)):
            raise ValueError(
                f"size must be at least {math.ceil(needed)}, got {self.size}: each picture of"
                f" {height} x {width} pixels is placed whole, up to largest={self.largest} times as large"
            )

    def place(self, images: Pixels, keys: Keys, training: Pixels) -> Pixels:
        """See `Canvas`."""
        draws = Draws(keys)
        share, across, down = (draws.below(_STEPS) / (_STEPS - 1) for _ in range(3))
        scale = self.smallest + (self.largest - self.smallest) * share
        # From places on the canvas, -1 to 1, to places in the image; beyond it there is black.
        matrix = np.zeros((len(images), 2, 3), dtype=np.float32)
        for axis, (side, place) in enumerate(zip(images.shape[:1:-1], (across, down), strict=True)):
            zoom = self.size / (side * scale)
            matrix[:, axis, axis] = zoom
            matrix[:, axis, 2] = (zoom - 1) * (1 - 2 * place)
        grid = affine_grid(
            torch.from_numpy(matrix), [*images.shape[:2], self.size, self.size], align_corners=False
        )
        pixels = torch.from_numpy(images).to(torch.float32)
        placed: Pixels = grid_sample(pixels, grid, align_corners=False).round().to(torch.uint8).numpy()
        return placed


_Place = tuple[NDArray[np.int64], slice, NDArray[np.int64], NDArray[np.int64]]


def somewhere(windows: Pixels, draws: Draws) -> _Place:
    """A random window for each image, as an index into `(B, C, places down, places across, h, w)`."""
    top = draws.below(windows.shape[2])
    return np.arange(len(top)), slice(None), top, draws.below(windows.shape[3])
