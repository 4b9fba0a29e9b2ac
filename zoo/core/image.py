"""Pictures as tensors of the data's specification, for data sets and prediction."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import ExifTags, Image, UnidentifiedImageError
from torch import Tensor
from torchvision.transforms.functional import pil_to_tensor

from zoo.core.reading import Unreadable, require_regular
from zoo.core.spec import ImageSpec

# A phone's photo may have 200 million pixels; Pillow refuses twice this number as an attack.
Image.MAX_IMAGE_PIXELS = 250_000_000
warnings.simplefilter("ignore", Image.DecompressionBombWarning)

_TURNS: dict[object, Image.Transpose] = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""Transpositions that turn a picture upright, by the orientation in its EXIF."""


def read_image(path: str | Path, spec: ImageSpec) -> Tensor:
    """Reads a picture with the channels and size of `spec`.

    A picture of another size is scaled to fit, whole and undistorted, on black. Where the specification says
    so, it is stretched instead, or a smaller one is placed in the middle unscaled.

    Args:
        path: a file of any format that Pillow reads.
        spec: channels and size.

    Returns:
        `(C, H, W)` uint8.

    Raises:
        ValueError: there is no such file, or it is no picture.
    """
    with _readable(path) as file:
        file.load()  # this turns a TIFF upright
        turn = _TURNS.get(file.getexif().get(ExifTags.Base.Orientation))
        # Not `ImageOps.exif_transpose`, which fails where other tags are damaged.
        picture: Image.Image = file if turn is None else file.transpose(turn)
        if picture.mode == "F" or (picture.mode == "I" and file.format != "PPM"):
            raise ValueError("its pixels are numbers of 32 bits, whose range is unknown")
        if picture.mode.startswith("I"):  # 16 bits, in a PPM too
            picture = _eight_bits(picture)
        if picture.has_transparency_data:
            black = Image.new("RGBA", picture.size, "black")
            picture = Image.alpha_composite(black, picture.convert("RGBA"))
        if picture.mode == "LAB":  # Pillow cannot convert it to grey
            picture = picture.convert("RGB")
        picture = picture.convert("L" if spec.channels == 1 else "RGB")
        if picture.size != (spec.width, spec.height):
            picture = _framed(picture, spec)
        pixels: Tensor = pil_to_tensor(picture)
        return pixels


def read_for_drawing(path: str | Path, spec: ImageSpec, longer_side: int = 400) -> Tensor:
    """Reads a picture for figures: like `read_image`, but undistorted where that would stretch it.

    Relative places in the two are the same.

    Args:
        path: see `read_image`.
        spec: see there.
        longer_side: pixels of the longer side of an undistorted picture.

    Returns:
        `(C, H, W)` uint8.

    Raises:
        ValueError: see `read_image`.
    """
    if not spec.stretched:
        return read_image(path, spec)
    with _readable(path) as file:
        width, height = _upright_size(file)
    scale = longer_side / max(width, height)
    wide, high = max(1, round(width * scale)), max(1, round(height * scale))
    return read_image(path, replace(spec, width=wide, height=high))


class Head(NamedTuple):
    """The head of a picture's file.

    Attributes:
        path: of the file.
        height: pixels of the upright picture.
        width: likewise.
        mode: Pillow's name for how a pixel is stored.
    """

    path: Path
    height: int
    width: int
    mode: str


def read_head(path: Path) -> Head:
    """Reads the head of a picture's file, not its pixels.

    Raises:
        ValueError: there is no such file, or it is no picture.
    """
    with _readable(path) as file:
        width, height = _upright_size(file)
        return Head(path, height, width, file.mode)


def _upright_size(file: Image.Image) -> tuple[int, int]:
    """Width and height of an opened picture when it is upright."""
    on_its_side = file.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
    return file.size[::-1] if on_its_side and file.format != "TIFF" else file.size  # Pillow turns a TIFF


@contextmanager
def _readable(path: str | Path) -> Iterator[Image.Image]:
    """Opens a picture; every error becomes a ValueError that names the file."""
    try:
        require_regular(path)
        with Image.open(path) as file:
            yield file
    except Unreadable:
        raise
    except UnidentifiedImageError:
        raise ValueError(f"{path} is no picture, or of a format that is not known") from None
    except Image.DecompressionBombError:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0) // 10**6
        raise ValueError(f"{path} has more than {most} million pixels: scale it down") from None
    except Exception as error:  # from Pillow's readers of a damaged file
        raise ValueError(f"{path} cannot be read as a picture: {error}") from error


def _framed(picture: Image.Image, spec: ImageSpec) -> Image.Image:
    """A picture with the height and width of `spec`."""
    frame = (spec.width, spec.height)
    if spec.stretched:
        return picture.resize(frame, Image.Resampling.BILINEAR)
    if not (spec.placed and picture.width <= spec.width and picture.height <= spec.height):
        scale = min(spec.width / picture.width, spec.height / picture.height)
        # Not `ImageOps.pad`, which may scale a thin picture to 0 pixels.
        wide, high = (max(1, round(side * scale)) for side in picture.size)
        picture = picture.resize((wide, high), Image.Resampling.BILINEAR)
    black = Image.new(picture.mode, frame)
    black.paste(picture, ((spec.width - picture.width) // 2, (spec.height - picture.height) // 2))
    return black


def _eight_bits(picture: Image.Image) -> Image.Image:
    """A grey picture of 16 bits scaled to 8, with black for transparent pixels; Pillow would clip at 255."""
    deep = np.asarray(picture)
    levels = np.where(deep == picture.info.get("transparency", -1), 0, deep / 257)
    return Image.fromarray(levels.round().clip(0, 255).astype(np.uint8))


def as_float(pixels: Tensor) -> Tensor:
    """Pixels of 0 to 255 as numbers from 0 to 1, float32."""
    return pixels.to(torch.float32, copy=True).div_(255)  # in place, to avoid a second large copy
