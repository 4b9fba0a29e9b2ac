"""Other views of training images: a part of each, scaled up again, its mirror image, or all of it moved."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from data.core.keyed_random import Draws, Keys
from data.images.canvas import somewhere
from data.images.image_set import Pixels

_STEPS = 2**20


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Which views there are. A value: what an image becomes depends on its key alone.

    Attributes:
        smallest_crop: share of each side that is seen at least; all shares up to 1 are equally likely, and
            so are all places.
        mirror: whether every other image is mirrored, unless a caption of it speaks of left or right.
    """

    smallest_crop: float = 0.8
    mirror: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.smallest_crop <= 1:
            raise ValueError(f"smallest_crop must be above 0 and at most 1, got {self.smallest_crop}")

    def views(self, images: Tensor, keys: Keys, sided: NDArray[np.bool_]) -> Tensor:
        """Views of a batch, at once.

        Args:
            images: `(B, C, H, W)` float.
            keys: `(B,)`, of the random numbers for each image.
            sided: `(B,)`, which images may not be mirrored.

        Returns:
            `(B, C, H, W)`.
        """
        draws = Draws(keys)
        share, across, down = (draws.below(_STEPS) / (_STEPS - 1) for _ in range(3))
        scale = self.smallest_crop + (1 - self.smallest_crop) * share
        mirrored = (draws.below(2) == 1) & ~sided & self.mirror
        # From places in the view, -1 to 1, to places in the image.
        matrix = np.zeros((len(keys), 2, 3), dtype=np.float32)
        matrix[:, 0, 0] = np.where(mirrored, -scale, scale)
        matrix[:, 1, 1] = scale
        matrix[:, 0, 2], matrix[:, 1, 2] = ((1 - scale) * (2 * place - 1) for place in (across, down))
        grid = affine_grid(torch.from_numpy(matrix), list(images.shape), align_corners=False)
        return grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


@dataclass(frozen=True, kw_only=True)
class Warp:
    """Images turned and stretched about their middle. A value, as `Augmentation` is.

    Attributes:
        rotation: degrees to either side at most; all angles up to it are equally likely.
        stretch: share by which width and height, each by itself, become larger or smaller at most.
    """

    rotation: float = 15.0
    stretch: float = 0.15

    def __post_init__(self) -> None:
        if not 0 <= self.rotation <= 180:
            raise ValueError(f"rotation must be from 0 to 180 degrees, got {self.rotation}")
        if not 0 <= self.stretch < 1:
            raise ValueError(f"stretch must be at least 0 and below 1, got {self.stretch}")

    def views(self, images: Pixels, keys: Keys) -> Pixels:
        """Views of a batch, at once.

        Args:
            images: `(B, C, H, W)`; beyond their borders there is black.
            keys: `(B,)`, of the random numbers for each image.

        Returns:
            `(B, C, H, W)` of the same kind.
        """
        draws = Draws(keys)
        turn, wide, high = (2 * (draws.below(_STEPS) / (_STEPS - 1)) - 1 for _ in range(3))
        angle = np.radians(self.rotation * turn)
        # From places in the view, -1 to 1, to places in the image: stretched less is seen more. A pixel is as
        # wide as it is high, whatever the shape of the image.
        ratio = images.shape[2] / images.shape[3]
        across, down = 1 / (1 + self.stretch * wide), 1 / (1 + self.stretch * high)
        matrix = np.zeros((len(keys), 2, 3), dtype=np.float32)
        matrix[:, 0, 0], matrix[:, 0, 1] = across * np.cos(angle), -across * np.sin(angle) * ratio
        matrix[:, 1, 0], matrix[:, 1, 1] = down * np.sin(angle) / ratio, down * np.cos(angle)
        grid = affine_grid(torch.from_numpy(matrix), list(images.shape), align_corners=False)
        seen = grid_sample(torch.from_numpy(images).float(), grid, mode="bilinear", align_corners=False)
        return seen.numpy().round().astype(images.dtype) if images.dtype == np.uint8 else seen.numpy()


def shifted(images: Pixels, keys: Keys, most: int) -> Pixels:
    """Each image moved by so many pixels at most, down or up and to the right or left, all equally likely.

    Args:
        images: `(B, C, H, W)`; beyond their borders there is black.
        keys: `(B,)`, of the random numbers for each image.
        most: pixels in each direction.

    Returns:
        `(B, C, H, W)`.
    """
    padded = np.pad(images, ((0, 0), (0, 0), (most, most), (most, most)))
    windows = sliding_window_view(padded, images.shape[2:], axis=(2, 3))
    moved: Pixels = windows[somewhere(windows, Draws(keys))]
    return moved
