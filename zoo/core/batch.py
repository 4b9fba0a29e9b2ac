"""The batches that data modules make and tasks consume: nested `NamedTuple`s, the same fields in every split.

Named tuples (not dataclasses) because Lightning moves them to a device and torch pins them without help.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Padded(NamedTuple):
    """Token ids of unequal length, padded on the right.

    Attributes:
        ids: `(B, T)` int64, the padding id after each row's end.
        lengths: `(B,)` int64, real tokens in each row.
    """

    ids: Tensor
    lengths: Tensor

    @property
    def keep_mask(self) -> Tensor:
        """`(B, T)` boolean, True at real tokens."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]

    def beginning(self, length: int) -> "Padded":
        """At most so many tokens of each row."""
        return Padded(self.ids[:, :length], self.lengths.clamp(max=length))


class TranslationBatch(NamedTuple):
    """Sentence pairs.

    Attributes:
        index: `(B,)` int64, each pair's number in its split (predictions are stored by it).
        source: ids ending in EOS.
        target: ids from BOS to EOS; see `decoder_pair` for the shift.
        source_text: the raw source sentences.
        target_text: the raw references, which are what is scored.
        alignment: `(B, T-1)` int64, the source position behind each predicted token (-1: none), where the
            data set knows it, else None.
        share: what its loss is multiplied with where it is part of a larger batch, see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    source: Padded
    target: Padded
    source_text: list[str]
    target_text: list[str]
    alignment: Tensor | None = None
    share: float = 1.0

    @property
    def amounts(self) -> dict[str, Tensor | int]:
        """What to measure speed by: target tokens, as the model must predict them, and sentences."""
        pairs = len(self.index)
        return {"tokens": self.target.lengths.sum() - pairs, "sentences": pairs}  # BOS is not predicted

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        sides = (self.source.ids, self.target.ids)
        return ", ".join(f"{len(ids)} sentences x {ids.shape[1]} tokens" for ids in sides)

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that decide how much memory it takes, that of its size first."""
        return ("data.batch_tokens", "data.maximum_length", "model.hidden_size", "decoding.beam_size")


class ImageBatch(NamedTuple):
    """Images of classes.

    Attributes:
        index: `(B,)` int64, each image's number in its split (predictions are stored by it).
        images: `(B, C, H, W)` float32 in [0, 1]; 0 is black, and what lies outside an image.
        labels: `(B,)` int64.
        names: what to call each image: its file, or the split and its number.
        share: what its loss is multiplied with where it is part of a larger batch, see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    images: Tensor
    labels: Tensor
    names: list[str]
    share: float = 1.0

    @property
    def amounts(self) -> dict[str, Tensor | int]:
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


CATCH_ACTIONS = ("left", "stay", "right")
"""What the paddle of Catch can do, in the order of their numbers."""


class CatchRules(NamedTuple):
    """What a game of Catch is played on and with.

    Attributes:
        size: pixels along each side of the board.
        ball: pixels along each side of the ball, a divisor of `size`; the paddle is twice as wide.
    """

    size: int
    ball: int


class CatchBatch(NamedTuple):
    """Games of Catch, as they begin; see `zoo.tasks.tracking.catch`.

    Attributes:
        index: `(B,)` int64, each game's number in its split (predictions are stored by it).
        paddle: `(B,)` int64, the column where the paddle begins, its left edge.
        columns: `(B, n)` int64, the column where each of n balls begins, its left edge.
        drifts: `(B, n)` int64, columns that each moves in a step, to the right where above 0.
        names: what to call each game: the split and its number.
        rules: of all games.
        share: what its loss is multiplied with where it is part of a larger batch, see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    paddle: Tensor
    columns: Tensor
    drifts: Tensor
    names: list[str]
    rules: CatchRules
    share: float = 1.0

    @property
    def amounts(self) -> dict[str, Tensor | int]:
        """What to measure speed by."""
        return {"games": len(self.index)}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        games, balls = self.columns.shape
        return f"{games} games of {balls} balls on {self.rules.size} x {self.rules.size}"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that decide how much memory it takes, that of its size first."""
        return ("data.batch_size", "model.hidden_size")


Box = tuple[float, float, float, float]
"""Left, top, right and bottom as shares of an image's width and height, from its upper left corner."""


class TrueCaptions:
    """All that may truly be said of an image, and where it shows what each word names.

    A plain class: trainers take named tuples and dictionaries apart to move what is in them.

    Attributes:
        boxes: by caption, for each of its words the box of the thing that it names; None where it names none.
    """

    def __init__(self, boxes: Mapping[str, Sequence[Box | None]]) -> None:
        self.boxes = boxes


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
        share: what its loss is multiplied with where it is part of a larger batch, see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    images: Tensor | None
    features: Tensor | None
    captions: Padded
    references: list[list[str]]
    names: list[str]
    truths: list[TrueCaptions] | None = None
    image_of: Tensor | None = None
    share: float = 1.0

    @property
    def amounts(self) -> dict[str, Tensor | int]:
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


def decoder_pair(target: Padded) -> tuple[Padded, Padded]:
    """Splits `BOS y_1 ... y_n EOS` into what the decoder reads and what it must predict.

    Args:
        target: `(B, T)` ids from BOS to EOS.

    Returns:
        inputs `BOS y_1 ... y_n` and labels `y_1 ... y_n EOS`, both `(B, T-1)` with lengths one shorter.
        Where a row is shorter than the batch, its inputs still hold EOS after the end; lengths say so.
    """
    lengths = target.lengths - 1
    return Padded(target.ids[:, :-1], lengths), Padded(target.ids[:, 1:], lengths)


def batches_of_like_length(lengths: Sequence[int], sentences: int, tokens: int) -> Iterator[list[int]]:
    """Shares out rows so that little is padded: their numbers in batches, shortest rows first.

    Args:
        lengths: of the rows.
        sentences: most rows in a batch.
        tokens: most tokens in a batch, padding included; a longer row makes a batch of its own.

    Raises:
        ValueError: a limit is below 1.
    """
    if sentences < 1 or tokens < 1:
        raise ValueError(f"a batch must hold something, got sentences={sentences}, tokens={tokens}")
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        # the newest row is the longest, and all are padded to it
        if batch and (len(batch) == sentences or (len(batch) + 1) * lengths[number] > tokens):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
