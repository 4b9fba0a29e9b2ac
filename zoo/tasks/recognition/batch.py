"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor


class ImageBatch(NamedTuple):
    """Images of classes.

    Attributes:
        index: `(B,)` int64, each image's number in its split.
        images: `(B, C, H, W)` float32 in [0, 1]; 0 is black, and what lies outside an image.
        labels: `(B,)` int64.
        names: each image's name: its file, or the split and its number.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    images: Tensor
    labels: Tensor
    names: list[str]
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "images of classes"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in."""
        return {"images": len(self.index)}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        channels, height, width = self.images.shape[1:]
        return f"{len(self.images)} images of {channels} x {height} x {width}"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_size", "task.episodes", "model.hidden_size")
