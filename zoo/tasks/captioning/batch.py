"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor

from zoo.core.batch import Padded, TrueCaptions


class CaptionBatch(NamedTuple):
    """Images with captions: in training a caption each, in evaluation every image once.

    Attributes:
        index: `(B,)` int64, each item's number in its split (predictions are stored by it): in training of a
            caption, in evaluation of an image.
        images: `(B, C, H, W)` float32 in [0, 1]; None where features of a frozen encoder are stored.
        features: `(B, D, h, w)`, the grids that a frozen encoder made of the images; None without a store.
        captions: ids from BOS to EOS, one caption of each image; see `decoder_pair` for the shift.
        references: all raw captions of each image, which are what is scored.
        names: what to call each image: its file, or the split and its number.
        truths: where the data knows it, all true captions of each image, else None.
        image_of: `(B,)` int64, which image (or features) each caption is of, where some share one and only
            I < B are there; None: each caption has its own.
        loss_weight: multiplies its loss where it is part of a larger batch, see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    images: Tensor | None
    features: Tensor | None
    captions: Padded
    references: list[list[str]]
    names: list[str]
    truths: list[TrueCaptions] | None = None
    image_of: Tensor | None = None
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """What it holds in words, for messages."""
        return "images with captions"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What to measure speed by: tokens, as the model must predict them, and captions."""
        captions = len(self.index)
        return {"tokens": self.captions.lengths.sum() - captions, "captions": captions}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        shown = self.images if self.images is not None else self.features
        assert shown is not None
        channels, height, width = shown.shape[1:]
        return (
            f"{len(self.index)} captions of {self.captions.ids.shape[1]} tokens"
            f" for {'images' if self.images is not None else 'features'} of {channels} x {height} x {width}"
        )

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that decide how much memory it takes, that of its size first."""
        return ("data.batch_size", "data.image_size", "model.hidden_size", "decoding.beam_size")
