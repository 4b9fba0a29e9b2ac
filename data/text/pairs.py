"""Encoded sentence pairs on disk, and batches of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from data.core.batching import Part
from zoo.core.batch import Padded
from zoo.core.spec import TextSpec
from zoo.tasks.translation.batch import TranslationBatch

if TYPE_CHECKING:
    from datasets import Dataset as Table

Ids = NDArray[np.int64]


class _Ragged:
    """Rows of integers of unequal length, as Arrow keeps them: in chunks that stay where they are mapped."""

    def __init__(self, table: Table, column: str) -> None:
        chunks = table.data.column(column).chunks
        # In a chunk all values lie in a row; offsets say where each row begins.
        self._chunks = [(chunk.offsets.to_numpy(), chunk.values.to_numpy()) for chunk in chunks]
        self._first_rows = np.cumsum([0, *map(len, chunks)])
        self.lengths: Ids = np.concatenate([np.diff(offsets) for offsets, _ in self._chunks]).astype(np.int64)

    def padded(self, rows: Ids, lengths: Ids, padding: int) -> Ids:
        """The first `lengths` values of some rows, padded on the right to the longest."""
        filled = np.full((len(rows), lengths.max()), padding, dtype=np.int64)
        places = np.searchsorted(self._first_rows, rows, side="right") - 1
        # A row at a time: of a large corpus nearly every row is in a chunk of its own.
        for line, place, row, length in zip(
            filled, places, rows - self._first_rows[places], lengths, strict=True
        ):
            offsets, values = self._chunks[place]
            line[:length] = values[offsets[row] : offsets[row] + length]
        return filled


class EncodedPairs(Dataset[TranslationBatch]):
    """Pairs of one split; indexed by rows, it makes whole batches.

    Attributes:
        lengths: `(N, 2)` tokens of source and target that a batch holds, EOS included, BOS not.
    """

    def __init__(
        self,
        table: Table,
        source: TextSpec,
        target: TextSpec,
        *,
        kept: Ids | None = None,
        truncate: bool = False,
    ) -> None:
        """Reads the ids where they lie.

        Args:
            table: columns source, target, source_ids, target_ids and perhaps alignment.
            source: describes the source's ids.
            target: describes the target's ids.
            kept: rows of the table; None keeps all.
            truncate: cuts sources beyond the source's maximum length (the last token is EOS all the same).
        """
        self._text = table.select_columns(["source", "target"])
        self._source, self._target = _Ragged(table, "source_ids"), _Ragged(table, "target_ids")
        self._alignment = _Ragged(table, "alignment") if "alignment" in table.column_names else None
        self._specs = source, target
        self._kept: Ids = np.arange(len(table)) if kept is None else kept
        source_lengths = self._source.lengths[self._kept]
        self._cut = source_lengths > source.maximum_length if truncate else np.zeros(len(self._kept), bool)
        self.lengths: Ids = np.stack(
            [
                np.where(self._cut, source.maximum_length, source_lengths),
                self._target.lengths[self._kept],
            ],
            axis=1,
        )

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def truncated(self) -> int:
        """Number of sources that lost their end."""
        return int(self._cut.sum())

    def __getitem__(self, chosen: Part) -> TranslationBatch:
        """The batch of some rows, in that order."""
        rows = chosen.rows
        kept, (source_lengths, target_lengths) = self._kept[rows], self.lengths[rows].T
        source_spec, target_spec = self._specs
        source = self._source.padded(kept, source_lengths, source_spec.pad)
        truncated = np.flatnonzero(self._cut[rows])
        source[truncated, source_lengths[truncated] - 1] = source_spec.eos
        target = self._target.padded(kept, target_lengths, target_spec.pad)
        target = np.pad(target, ((0, 0), (1, 0)), constant_values=target_spec.bos)
        text = self._text[kept]
        return TranslationBatch(
            index=torch.from_numpy(kept),
            source=_batch(source, source_lengths),
            target=_batch(target, target_lengths + 1),
            source_text=list(text["source"]),
            target_text=list(text["target"]),
            alignment=self._aligned(kept, source_lengths, target_lengths),
            loss_weight=chosen.loss_weight,
        )

    def _aligned(self, kept: Ids, source_lengths: Ids, target_lengths: Ids) -> Tensor | None:
        if self._alignment is None:
            return None
        positions = self._alignment.padded(kept, target_lengths, -1)
        return torch.from_numpy(np.where(positions < source_lengths[:, None], positions, -1))


def _batch(ids: Ids, lengths: Ids) -> Padded:
    return Padded(torch.from_numpy(ids), torch.from_numpy(lengths.copy()))
