"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor


class ImageBatch(NamedTuple):
    """Images of classes.

    Attributes:
        index: `(B,)` int64, each image's number in its split (predictions are stored by it).
        images: `(B, C, H, W)` float32 in [0, 1]; 0 is black, and what lies outside an image.
        labels: `(B,)` int64.
        names: what to call each image: its file, or the split and its number.
        loss_weight: multiplies its loss where it is part of a larger batch, see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    images: Tensor
    labels: Tensor
    names: list[str]
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """What it holds in words, for messages."""
        return "images of classes"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What to measure speed by."""
        return {"images": len(self.index)}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        channels, height, width = self.images.shape[1:]
        return f"{len(self.images)} images of {channels} x {height} x {width}"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that decide how much memory it takes, that of its size first."""
        return ("data.batch_size", "task.episodes", "model.hidden_size")
