"""Documents packed into sequences with masked tokens (Devlin et al. 2019, sections 3.1, A.1 and A.2).

Everything that is drawn is a function of seed, split, epoch and the sequence's number: of training sequences
anew in each epoch, of others always the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from data.core.batching import Part
from data.core.keyed_random import Draws, keys, split_key
from data.core.ragged import Ints
from zoo.core.batch import Padded
from zoo.core.spec import TextSpec
from zoo.tasks.masked_language_modelling.batch import MaskedBatch

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from datasets import Dataset as Table

_CHOSEN = 0.15
"""The share of tokens that are chosen to be named."""

_PAIRING, _CHOOSING, _REPLACING = range(3)
"""What numbers are drawn for: pairs, chosen tokens, what stands in their place."""


class Documents(NamedTuple):
    """The tokens of all documents, one behind the other, without those around sentences.

    Attributes:
        tokens: `(N,)`.
        sentence_ends: where sentences end, rising.
        document_ends: where documents end, rising.
    """

    tokens: NDArray[np.integer]
    sentence_ends: Ints
    document_ends: Ints


def documents_of(table: Table, text: TextSpec) -> Documents:
    """The column `text` of a prepared split; a text is a document of one sentence."""
    before = int("cls" in text.special)
    tokens: list[NDArray[np.integer]] = []
    lengths: list[Ints] = []
    counts: list[Ints] = []
    for chunk in table.data.column("text_ids").chunks:
        sentences: pa.ListArray = chunk
        if chunk.offsets is not None and hasattr(chunk.values, "offsets"):
            counts.append(np.diff(chunk.offsets.to_numpy()).astype(np.int64))
            sentences = chunk.values
        else:
            counts.append(np.ones(len(chunk), np.int64))
        offsets = sentences.offsets.to_numpy().astype(np.int64)
        values = sentences.values.to_numpy()
        kept = np.zeros(len(values), bool)
        kept[offsets[0] : offsets[-1]] = True
        if before:
            kept[offsets[:-1]] = False
        if text.added > before:
            kept[offsets[1:] - 1] = False
        tokens.append(values[kept])
        lengths.append(np.diff(offsets) - text.added)
    ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    last = np.cumsum(np.concatenate(counts))
    return Documents(np.concatenate(tokens), ends[1:], ends[last])


def packed(documents: Documents, room: int) -> NDArray[np.int64]:
    """Cuts documents into chunks `(C, 2)`, from one token to another, of at most `room` tokens each.

    A chunk has as many whole sentences as fit; one that is longer than the room is cut. Chunks of less than
    two tokens are left out.
    """
    chunks = []
    start = 0
    for end in documents.document_ends.tolist():
        while start < end:
            stop = min(start + room, end)
            if stop < end:
                fitting = int(np.searchsorted(documents.sentence_ends, stop, side="right")) - 1
                whole = int(documents.sentence_ends[fitting]) if fitting >= 0 else start
                stop = whole if whole > start else stop
            if stop - start > 1:
                chunks.append((start, stop))
            start = stop
    return np.array(chunks, np.int64).reshape(-1, 2)


class _Spans(NamedTuple):
    """The tokens of B sequences: those of a, then those of b.

    Attributes:
        starts: `(B, 2)`, where each begins among all tokens.
        lengths: `(B, 2)`; that of b is 0 without pairs.
        follows: `(B,)`, whether b stands behind a in a document.
    """

    starts: Ints
    lengths: Ints
    follows: NDArray[np.bool_]


class MaskedRows(Dataset[MaskedBatch]):
    """Sequences of one split; indexed by `Part`, it makes whole batches.

    Of each sequence 15 % of the tokens are chosen, at least one. Of these 80 % become MASK, 10 % a random
    token (no special one), and 10 % stay. With pairs, a chunk of a document is cut at the end of a sentence
    (where it has one only, anywhere); in half of all cases what follows the cut is taken from another
    document, and the rest of the chunk is not read in that epoch.

    Args:
        documents: of the split.
        text: describes them, with the longest sequence.
        split: its name.
        seed: of the draws of training sequences.
        pairs: whether sequences are pairs.
    """

    def __init__(self, documents: Documents, text: TextSpec, *, split: str, seed: int, pairs: bool) -> None:
        self._documents, self._text, self._pairs = documents, text, pairs
        self._key = split_key(split, seed)
        self._drawn_anew = split == "train"
        self._special = 3 if pairs else 2
        self._room = text.maximum_length - self._special
        self._chunks = packed(documents, self._room)
        self._owner = np.searchsorted(documents.document_ends, self._chunks[:, 0], side="right")
        special = list(text.special.values())
        self._words = np.setdiff1d(np.arange(text.size), special)

    def __len__(self) -> int:
        return len(self._chunks)

    def mask_counts(self, epoch: int, rows: Ints) -> Ints:
        """How many tokens are chosen of each of these sequences `(B,)`."""
        counts: Ints = self._chosen(self._spans(epoch, rows).lengths.sum(1))
        return counts

    def __getitem__(self, chosen: Part) -> MaskedBatch:
        """The batch of some sequences, in that order."""
        rows = np.asarray(chosen.rows)
        epoch = chosen.epoch if self._drawn_anew else 0
        spans = self._spans(epoch, rows)
        ids, real, segments, lengths = self._laid_out(spans)
        places, labels = self._mask(epoch, rows, ids, real, self._chosen(spans.lengths.sum(1)))
        return MaskedBatch(
            index=torch.from_numpy(rows),
            text=Padded(torch.from_numpy(ids), torch.from_numpy(lengths)),
            segments=torch.from_numpy(segments),
            places=torch.from_numpy(places),
            labels=torch.from_numpy(labels),
            follows=torch.from_numpy(spans.follows.astype(np.int64)) if self._pairs else None,
            loss_weight=chosen.loss_weight,
        )

    def _chosen(self, tokens: Ints) -> Ints:
        counts: Ints = np.maximum(1, np.round(_CHOSEN * tokens)).astype(np.int64)
        return counts

    def _spans(self, epoch: int, rows: Ints) -> _Spans:
        begin, end = self._chunks[rows].T
        nothing = np.zeros_like(begin)
        if not self._pairs:
            both = np.stack([begin, nothing], 1), np.stack([end - begin, nothing], 1)
            return _Spans(*both, nothing > 0)
        epoch = epoch if self._drawn_anew else 0
        draws = Draws(keys(*self._key, epoch, _PAIRING, rows))
        follows = draws.below(2) == 1
        cut = self._cut(begin, end, draws)
        other = self._elsewhere(rows, draws)
        other_begin, other_end = self._chunks[other].T
        from_other = self._cut(other_begin, other_end, draws)
        # Where all is one document there is nowhere else.
        follows |= self._owner[other] == self._owner[rows]
        start = np.where(follows, cut, from_other)
        length = np.where(follows, end - cut, np.minimum(other_end - from_other, self._room - (cut - begin)))
        return _Spans(np.stack([begin, start], 1), np.stack([cut - begin, length], 1), follows)

    def _cut(self, begin: Ints, end: Ints, draws: Draws) -> Ints:
        """A place within each chunk, behind its first token and before its last: the end of a sentence."""
        ends = self._documents.sentence_ends
        first = np.searchsorted(ends, begin, side="right")
        inside = np.searchsorted(ends, end, side="left") - first
        number = draws.within(np.maximum(inside, 1))
        anywhere = begin + 1 + draws.within(np.maximum(end - begin - 1, 1))
        return np.where(inside > 0, ends[np.minimum(first + number, len(ends) - 1)], anywhere)

    def _elsewhere(self, rows: Ints, draws: Draws) -> Ints:
        """A chunk of another document for each of these, all of them equally likely."""
        first = np.searchsorted(self._owner, self._owner[rows], side="left")
        own = np.searchsorted(self._owner, self._owner[rows], side="right") - first
        others = len(self._chunks) - own
        drawn = draws.within(np.maximum(others, 1))
        return np.where(others > 0, drawn + np.where(drawn >= first, own, 0), rows)

    def _laid_out(self, spans: _Spans) -> tuple[Ints, NDArray[np.bool_], Ints, Ints]:
        """Ids `(B, T)`, which of them are of texts, segments `(B, T)`, and lengths `(B,)`."""
        text, of_a, of_b = self._text, spans.lengths[:, :1], spans.lengths[:, 1:]
        lengths = spans.lengths.sum(1) + self._special
        place = np.arange(lengths.max())[None]
        first, second = place - 1, place - of_a - 2
        tokens = self._documents.tokens
        in_a, in_b = (first >= 0) & (first < of_a), (second >= 0) & (second < of_b)
        where = np.where(in_a, spans.starts[:, :1] + first, spans.starts[:, 1:] + second)
        ids = tokens[np.where(in_a | in_b, where, 0)].astype(np.int64)
        around = np.where(place == 0, text.cls, np.where(place < lengths[:, None], text.sep, text.pad))
        real = in_a | in_b
        return np.where(real, ids, around), real, ((second >= 0) & self._pairs).astype(np.int64), lengths

    def _mask(
        self, epoch: int, rows: Ints, ids: Ints, real: NDArray[np.bool_], counts: Ints
    ) -> tuple[Ints, Ints]:
        """Masks ids in place.

        Returns:
            The chosen places in the flattened ids, row by row, and what stood there.
        """
        position = np.arange(ids.shape[1])[None]
        order = keys(*self._key, epoch, _CHOOSING, rows[:, None], position)
        order = np.where(real, order, np.uint64(2**64 - 1))
        rank = order.argsort(1).argsort(1)
        places = np.flatnonzero((rank < counts[:, None]).ravel())
        row, column = np.divmod(places, ids.shape[1])
        labels = ids[row, column]
        draws = Draws(keys(*self._key, epoch, _REPLACING, rows[row], column))
        kind, word = draws.below(10), self._words[draws.below(len(self._words))]
        ids[row, column] = np.where(kind < 8, self._text.mask, np.where(kind == 8, word, labels))
        return places, labels
