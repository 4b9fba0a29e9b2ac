"""Images within figures."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage

from zoo.figures.checks import require_range

Array = np.ndarray[Any, np.dtype[Any]]

_GREYS = Normalize(0.0, 1.0)


def image_pixels(image: Any) -> Array:
    """Checks an image `(C, H, W)` and returns `(H, W)` when it is grey, else `(H, W, 3)`.

    Raises:
        ValueError: it has another shape, or values out of [0, 1].
    """
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[0] not in (1, 3) or not pixels.size:
        raise ValueError(f"an image needs the shape (C, H, W) with C 1 or 3, got {pixels.shape}")
    require_range("image", pixels, 0, 1)
    return channels_last(pixels)


def channels_last(pixels: Array) -> Array:
    """`(..., C, H, W)` to `(..., H, W, 3)`, or to `(..., H, W)` when C is 1; float, clipped to [0, 1]."""
    pixels = pixels.astype(np.result_type(pixels, np.float32)).clip(0, 1)
    return pixels[..., 0, :, :] if pixels.shape[-3] == 1 else np.moveaxis(pixels, -3, -1)


def show_pixels(axes: Axes, pixels: Array, left: float, top: float, wide: float, high: float) -> None:
    """Draws pixels with their upper left corner at this place; grey is black at 0 and white at 1."""
    # Added as an artist: `imshow` changes the limits of the axes.
    image = AxesImage(axes, cmap="gray", norm=_GREYS, extent=(left, left + wide, top + high, top))
    image.set_data(pixels)
    axes.add_artist(image)
