"""What batches are made of: nested `NamedTuple`s, the same fields in every split.

Named tuples (not dataclasses) because Lightning moves them to a device and torch pins them without help.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

_MOST_PADDED = 1.5
"""The longest row of a group has at most this many times the tokens of its shortest one."""


class Batch(Protocol):
    """What every task's batch says of itself: a named tuple of its parts."""

    def __iter__(self) -> Iterator[object]:
        """Its parts."""

    @property
    def index(self) -> Tensor:
        """`(B,)` int64, each item's number in its split (predictions are stored by it)."""

    @property
    def loss_weight(self) -> float:
        """Multiplies its loss where it is part of a larger batch, see `data.core.batching`."""

    @property
    def throughput_counts(self) -> Mapping[str, Tensor | int]:
        """What to measure speed by."""

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that decide how much memory it takes, that of its size first."""

    @staticmethod
    def contents() -> str:
        """What it holds in words, for messages."""


def real_positions(lengths: Tensor, size: int) -> Tensor:
    """`(B, size)` boolean, True at the first `lengths` `(B,)` positions of each row."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]


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
        return real_positions(self.lengths, self.ids.shape[1])

    def beginning(self, length: int) -> "Padded":
        """At most so many tokens of each row."""
        return Padded(self.ids[:, :length], self.lengths.clamp(max=length))


class Documents(NamedTuple):
    """Documents of sentences of words (Yang et al. 2016).

    A network reads words group by group, and then the sentences of each document:
    `documents.arranged(torch.cat([encode(group) for group in documents.groups]))`.

    Attributes:
        groups: together all S sentences of the batch, those of like length padded together.
        places: `(B, L)` int64, where sentence l of each document stands in the concatenated groups; 0 after
            its last one.
        lengths: `(B,)` int64, sentences in each document.
    """

    groups: tuple[Padded, ...]
    places: Tensor
    lengths: Tensor

    @property
    def keep_mask(self) -> Tensor:
        """`(B, L)` boolean, True at real sentences."""
        return real_positions(self.lengths, self.places.shape[1])

    @property
    def origins(self) -> tuple[Tensor, Tensor]:
        """For each of the concatenated sentences, `(S,)`: its document, and its number in it."""
        documents, numbers = self.keep_mask.nonzero(as_tuple=True)
        order = self.places[documents, numbers].argsort()
        return documents[order], numbers[order]

    def arranged(self, sentences: Tensor) -> Tensor:
        """What belongs to each sentence, by document.

        Args:
            sentences: `(S, ...)` in the order of the concatenated groups.

        Returns:
            `(B, L, ...)`, zeros after the last sentence of each document.
        """
        there = self.keep_mask.view(*self.places.shape, *[1] * (sentences.dim() - 1))
        return sentences[self.places].where(there, torch.zeros_like(sentences[:1]))


def grouped_documents(
    counts: Sequence[int], lengths: Sequence[int], pad: Callable[[list[int]], Padded]
) -> Documents:
    """Groups the sentences of documents by their length.

    Args:
        counts: sentences in each of B documents.
        lengths: tokens in each of the S sentences of all documents, in order.
        pad: makes a group of the sentences of these numbers.
    """
    groups = list(groups_of_like_length(lengths))
    sentence_counts = torch.tensor(counts)
    there = real_positions(sentence_counts, max(counts))
    places = torch.zeros(there.shape, dtype=torch.int64)
    places[there] = torch.tensor([number for group in groups for number in group]).argsort()
    return Documents(tuple(map(pad, groups)), places, sentence_counts)


def groups_of_like_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Shares out rows so that little is padded, whatever their order: their numbers, shortest rows first."""
    group: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if group and lengths[number] > _MOST_PADDED * lengths[group[0]]:
            yield group
            group = []
        group.append(number)
    if group:
        yield group


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
