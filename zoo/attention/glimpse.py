"""The glimpse sensor: the only way in which an agent sees an image (Mnih et al. 2014, section 3.1)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.kernels.precision import at_least_float32

ImageMemory = tuple[Tensor, ...]
"""What `GlimpseSensor.prepare` made of images: a tensor `(*lead, C, ...)` for every scale."""


class GlimpseSensor(nn.Module):
    """Reads patches around a location: sharp where it looks, coarser and coarser around.

    The first patch has `size` x `size` pixels, each next one is twice as wide, and all are averaged down to
    `size` x `size` (section 4: "g_w", "k patches of increasing size"). What lies outside the image is zero.

    A location (x, y) has its origin in the middle of the image; -1 and 1 are the outer edges, whatever the
    image's height and width. Patches of an even size are centred on the nearest corner of a pixel, those of
    an odd size on the pixel that holds the location. Rounding cuts the gradient: where to look is learned by
    REINFORCE.

    Images are prepared once and read many times, at any number of locations at once, as attention reads a
    memory:

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
        # So many zeros around the image that a block of the widest scale fits in between.
        self._margin = 2 ** (scales - 1)

    def prepare(self, images: Tensor) -> ImageMemory:
        """Averages the blocks that a coarse patch's pixels stand for, once for all glimpses.

        Args:
            images: `(*lead, C, H, W)`, any height, width and number of channels.

        Raises:
            ValueError: if the images have fewer axes.
        """
        if images.ndim < 3:
            raise ValueError(f"images need the shape (..., C, H, W), given {tuple(images.shape)}")
        blocks = [pad(images, (self._margin,) * 4)]
        for scale in range(1, self.scales):
            half, wide = blocks[-1], 2 ** (scale - 1)  # a block is two by two of the scale before
            half = half[..., :-wide, :].lerp(half[..., wide:, :], 0.5)
            blocks.append(half[..., :-wide].lerp(half[..., wide:], 0.5))
        return tuple(blocks)

    def forward(self, memory: ImageMemory, locations: Tensor) -> Tensor:
        """Looks.

        Args:
            memory: what `prepare` returned.
            locations: `(*lead, Q, 2)`, (x, y) of each look; beyond [-1, 1] there is less and less to see.

        Returns:
            `(*lead, Q, k, C, g, g)`.

        Raises:
            ValueError: if there is no location for each image.
        """
        lead, queries = memory[0].shape[:-3], locations.shape[-2]
        if locations.shape[:-2] != lead or locations.shape[-1] != 2:
            raise ValueError(
                f"locations need the shape (*lead, Q, 2) with lead={tuple(lead)}, "
                f"given {tuple(locations.shape)}"
            )
        height, width = (side - 2 * self._margin for side in memory[0].shape[-2:])
        patches = []
        for scale, blocks in enumerate(memory):
            rows, columns = blocks.shape[-2:]
            x = self._places(locations[..., 0], width, 2**scale).clamp(0, columns - 1)
            y = self._places(locations[..., 1], height, 2**scale).clamp(0, rows - 1)
            index = (y[..., :, None] * columns + x[..., None, :]).flatten(-3)  # (*lead, Q g g)
            index = index.unsqueeze(-2).expand(*lead, blocks.shape[-3], -1)
            found = blocks.flatten(-2).gather(-1, index)
            patches.append(found.unflatten(-1, (queries, self.size, self.size)))  # (*lead, C, Q, g, g)
        return torch.stack(patches, len(lead)).movedim(-3, len(lead))

    def _places(self, location: Tensor, extent: int, side: int) -> Tensor:
        """Where the blocks of a patch begin along one axis, `(*lead, Q, g)`.

        Those beyond the rim are still to be brought back to it: its blocks are as empty.
        """
        middle = (location.to(at_least_float32(location)) + 1) / 2 * extent
        first: Tensor = (middle - self.size * side / 2 + 0.5).floor().long() + self._margin
        return first[..., None] + side * torch.arange(self.size, device=location.device)

    def extra_repr(self) -> str:
        """The sizes, for `print(model)`."""
        return f"size={self.size}, scales={self.scales}"
