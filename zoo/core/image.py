"""Pictures to tensors, as the data's specification describes them: shared by data sets and prediction."""

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

# A phone's photo may have 200 million pixels; of twice as many as this Pillow fears an attack.
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
"""What brings a picture upright, by the orientation in its EXIF."""


def read_image(path: str | Path, spec: ImageSpec) -> Tensor:
    """Reads a picture as the images of `spec` are.

    Colours become grey where the model knows one channel, and the other way round. A picture of another size
    is scaled until it fits, whole and undistorted; what is left of the frame is black. Where the
    specification says so, it is stretched instead, or a smaller one is placed in the middle as it is.

    Args:
        path: a file of any format that Pillow reads.
        spec: channels and size.

    Returns:
        `(C, H, W)` uint8.

    Raises:
        ValueError: there is no such file, or it is no picture.
    """
    with _readable(path) as file:
        file.load()  # which turns a TIFF
        turn = _TURNS.get(file.getexif().get(ExifTags.Base.Orientation))
        # As it was held, not as the sensor lay. `ImageOps.exif_transpose` fails where other tags are damaged.
        picture: Image.Image = file if turn is None else file.transpose(turn)
        if picture.mode == "F" or (picture.mode == "I" and file.format != "PPM"):
            raise ValueError("its pixels are numbers of 32 bits, whose range nobody knows")
        if picture.mode.startswith("I"):  # of PPM it holds 16 bits, too
            picture = _eight_bits(picture)
        if picture.has_transparency_data:
            black = Image.new("RGBA", picture.size, "black")
            picture = Image.alpha_composite(black, picture.convert("RGBA"))
        if picture.mode == "LAB":  # which Pillow makes of colours, but not of grey
            picture = picture.convert("RGB")
        picture = picture.convert("L" if spec.channels == 1 else "RGB")
        if picture.size != (spec.width, spec.height):
            picture = _framed(picture, spec)
        pixels: Tensor = pil_to_tensor(picture)
        return pixels


def read_for_drawing(path: str | Path, spec: ImageSpec, longer_side: int = 400) -> Tensor:
    """Reads a picture as a drawing shows it: what `read_image` would stretch in its own shape.

    Either way it fills the same frame, so that places in one are places in the other.

    Args:
        path: see `read_image`.
        spec: see there.
        longer_side: pixels of what is not stretched.

    Returns:
        `(C, H, W)` uint8.

    Raises:
        ValueError: see `read_image`.
    """
    if not spec.stretched:
        return read_image(path, spec)
    with _readable(path) as file:
        width, height = _size_as_held(file)
    scale = longer_side / max(width, height)
    wide, high = max(1, round(width * scale)), max(1, round(height * scale))
    return read_image(path, replace(spec, width=wide, height=high))


class Head(NamedTuple):
    """What the head of a picture's file says; its pixels are not read.

    Attributes:
        path: of the file.
        height: pixels of the picture as it was held.
        width: likewise.
        mode: Pillow's name for how a pixel is stored.
    """

    path: Path
    height: int
    width: int
    mode: str


def read_head(path: Path) -> Head:
    """Opens a picture without reading its pixels.

    Raises:
        ValueError: there is no such file, or it is no picture.
    """
    with _readable(path) as file:
        width, height = _size_as_held(file)
        return Head(path, height, width, file.mode)


def _size_as_held(file: Image.Image) -> tuple[int, int]:
    """Width and height of an opened picture as it was held; its pixels are not read."""
    lies = file.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
    return file.size[::-1] if lies and file.format != "TIFF" else file.size  # which Pillow has turned


@contextmanager
def _readable(path: str | Path) -> Iterator[Image.Image]:
    """The picture of a file; whatever is wrong with it is said with its name."""
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
    except Exception as error:  # whatever a damaged file makes of Pillow's readers
        raise ValueError(f"{path} cannot be read as a picture: {error}") from error


def _framed(picture: Image.Image, spec: ImageSpec) -> Image.Image:
    """A picture with the height and width of `spec`."""
    frame = (spec.width, spec.height)
    if spec.stretched:
        return picture.resize(frame, Image.Resampling.BILINEAR)
    if not (spec.placed and picture.width <= spec.width and picture.height <= spec.height):
        scale = min(spec.width / picture.width, spec.height / picture.height)
        # Something is left of the thinnest one, which is why this is not `ImageOps.pad`.
        wide, high = (max(1, round(side * scale)) for side in picture.size)
        picture = picture.resize((wide, high), Image.Resampling.BILINEAR)
    black = Image.new(picture.mode, frame)
    black.paste(picture, ((spec.width - picture.width) // 2, (spec.height - picture.height) // 2))
    return black


def _eight_bits(picture: Image.Image) -> Image.Image:
    """A grey picture of 16 bits with 8, which Pillow would cut off at 255 instead; clear is black."""
    deep = np.asarray(picture)
    levels = np.where(deep == picture.info.get("transparency", -1), 0, deep / 257)
    return Image.fromarray(levels.round().clip(0, 255).astype(np.uint8))


def as_float(pixels: Tensor) -> Tensor:
    """Pixels of 0 to 255 as numbers from 0 to 1, float32."""
    return pixels.to(torch.float32, copy=True).div_(255)  # in place: a second large copy is slow
