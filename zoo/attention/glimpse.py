"""The glimpse sensor: the only way in which an agent sees an image (Mnih et al. 2014, section 3.1)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.kernels.precision import at_least_float32


class ImageMemory(NamedTuple):
    """Images, prepared by `GlimpseSensor.prepare`.

    Attributes:
        blocks: `(*lead, C, ...)`, averages over blocks of pixels for every scale, or the images alone.
        margin: rows of zeros around the images; 0 for the images alone.
        half_sides: `(2,)`, half the width and height of the images, in pixels.
        offsets: `(size,)`, 0 to size - 1.
    """

    blocks: tuple[Tensor, ...]
    margin: int
    half_sides: Tensor
    offsets: Tensor


def useful_scales(size: int, height: int, width: int) -> int:
    """The number of scales that each show something new.

    A patch reaches half its width from its location. Once that is the image's longer side, the patch holds
    the whole image even from a corner, and wider ones add only zeros, at twice the memory each.

    Args:
        size: g_w, pixels of a patch along each side.
        height: of the images, in pixels.
        width: of the images, in pixels.
    """
    needed = 2 * max(height, width) - size % 2  # at an edge, half a pixel more of an odd patch lies inside
    return 1 + max(0, math.ceil(math.log2(needed / size)))


_LARGE = 32
"""Larger images, in areas of the widest patch, are not prepared: hardly any block of them would be read."""


class GlimpseSensor(nn.Module):
    """Reads patches around a location, the wider the coarser.

    The first patch has `size` x `size` pixels, each next one is twice as wide, and all are averaged down to
    `size` x `size` (section 4: "g_w", "k patches of increasing size"). What lies outside the image is zero.

    A location (x, y) has its origin in the middle of the image; -1 and 1 are the outer edges, whatever the
    image's height and width. Patches of an even size are centred on the nearest corner of a pixel, those of
    an odd size on the pixel that holds the location, at 1 the last one. Rounding cuts the gradient: where to
    look is learned by REINFORCE.

    Images are prepared once and read many times, at any number of locations:

        sensor = GlimpseSensor(size=8, scales=3)
        memory = sensor.prepare(images)  # (B, C, H, W)
        glimpses = sensor(memory, locations)  # (B, Q, 2) to (B, Q, 3, C, 8, 8)

    Args:
        size: g_w, pixels of a patch along each side.
        scales: k, number of patches.

    Raises:
        ValueError: if one is below 1.
    """

    def __init__(self, *, size: int, scales: int = 1) -> None:
        super().__init__()
        for name, number in {"size": size, "scales": scales}.items():
            if number < 1:
                raise ValueError(f"GlimpseSensor: {name}={number}, must be at least 1")
        self.size, self.scales = size, scales
        # Zeros around the image, as wide as a block of the widest scale.
        self._margin = 2 ** (scales - 1)

    def prepare(self, images: Tensor) -> ImageMemory:
        """Averages the blocks of pixels of every scale, once for all glimpses.

        Args:
            images: `(*lead, C, H, W)` floating-point numbers, any height, width and number of channels.

        Raises:
            ValueError: if the images have fewer axes or hold whole numbers.
        """
        if images.ndim < 3:
            raise ValueError(f"images need the shape (..., C, H, W), given {tuple(images.shape)}")
        if not images.is_floating_point():
            raise ValueError(
                f"images need floating-point numbers, mostly from 0 to 1, given {images.dtype}: "
                "images.float() / 255 makes them of bytes"
            )
        widest = self.size * 2 ** (self.scales - 1)
        height, width = images.shape[-2:]
        # `linspace` copies nothing to the device.
        sides = (width / 2, height / 2, 2)
        half_sides = torch.linspace(*sides, dtype=torch.float32, device=images.device)
        offsets = torch.arange(self.size, device=images.device)
        if height * width > _LARGE * widest**2:
            return ImageMemory((images,), 0, half_sides, offsets)
        blocks = [pad(images, (self._margin,) * 4)]
        for scale in range(1, self.scales):
            half, wide = blocks[-1], 2 ** (scale - 1)  # a block is two by two of the scale before
            half = half[..., :-wide, :].lerp(half[..., wide:, :], 0.5)
            blocks.append(half[..., :-wide].lerp(half[..., wide:], 0.5))
        return ImageMemory(tuple(blocks), self._margin, half_sides, offsets)

    def forward(self, memory: ImageMemory, locations: Tensor) -> Tensor:
        """Reads glimpses.

        Args:
            memory: from `prepare`.
            locations: `(*lead, Q, 2)`, (x, y) of each glimpse; beyond [-1, 1] more and more of it is zero.

        Returns:
            `(*lead, Q, k, C, g, g)`.

        Raises:
            ValueError: if locations and images do not fit.
        """
        images = memory.blocks[0]
        lead = images.shape[:-3]
        if locations.shape[:-2] != lead or locations.shape[-1] != 2:
            raise ValueError(
                f"locations need the shape (*lead, Q, 2) with lead={tuple(lead)}, "
                f"given {tuple(locations.shape)}"
            )
        # Half sides are exact, so that rounding agrees with the boxes of `zoo.figures`.
        middle = (locations.to(at_least_float32(locations)) + 1) * memory.half_sides
        patches = []
        for scale in range(self.scales):
            side, centre = 2**scale, middle
            if self.size * side % 2:  # the image's outer edge belongs to its last pixel, not to one beyond
                at_edge = middle == 2 * memory.half_sides
                centre = torch.where(at_edge, middle - 0.5, middle)
            first = (centre - self.size * side / 2).add_(0.5).floor_().long().add_(memory.margin)
            if memory.margin:
                pixels = memory.offsets * side if scale else memory.offsets
                patches.append(_read(memory.blocks[scale], first[..., None] + pixels))
            else:
                height, width = images.shape[-2:]
                pixels = first[..., None] + torch.arange(self.size * side, device=first.device)
                columns, rows = pixels.unbind(-2)
                above_below = (rows < 0) | (rows >= height)
                beside = (columns < 0) | (columns >= width)
                outside = above_below[..., None] | beside[..., None, :]
                found = _read(images, pixels).masked_fill(outside.unsqueeze(-3), 0.0)
                patches.append(found.unflatten(-1, (-1, side)).unflatten(-3, (-1, side)).mean((-3, -1)))
        return torch.stack(patches, -4) if self.scales > 1 else patches[0].unsqueeze(-4)

    def extra_repr(self) -> str:
        """The sizes, for `print(model)`."""
        return f"size={self.size}, scales={self.scales}"


def _read(source: Tensor, places: Tensor) -> Tensor:
    """Squares of n x n pixels; beyond the source its outermost pixels are repeated.

    Args:
        source: `(*lead, C, H, W)`.
        places: `(*lead, Q, 2, n)`, columns and rows of the pixels of each square.

    Returns:
        `(*lead, Q, C, n, n)`.
    """
    *lead, channels, height, width = source.shape
    squares, number = places.shape[-3], places.shape[-1]
    columns, rows = places.unbind(-2)
    rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    index = torch.add(columns.unsqueeze(-2), rows.unsqueeze(-1), alpha=width)
    index = index.flatten(-3).unsqueeze(-2).expand(*lead, channels, -1)
    found = source.flatten(-2).gather(-1, index).view(*lead, channels, squares, number, number)
    return found.transpose(-4, -3)
