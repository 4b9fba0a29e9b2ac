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
        features: `(B, D, h, w)`, the stored grids of a frozen encoder; None without a store.
        captions: ids from BOS to EOS, one caption of each image; see `decoder_pair` for the shift.
        references: all raw captions of each image, for the scores.
        names: each image's name: its file, or the split and its number.
        truths: all true captions of each image; None where the data does not know them.
        image_of: `(B,)` int64, the image (or features) of each caption where captions share I < B of them;
            None where each has its own.
        loss_weight: see `data.core.batching`.
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
        """Its content in words, for messages."""
        return "images with captions"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in: tokens to predict, and captions."""
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
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_size", "data.image_size", "model.hidden_size", "decoding.beam_size")
