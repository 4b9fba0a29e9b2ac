"""Rows of integers of unequal length."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class _Chunk(NamedTuple):
    """Some rows of values that lie one behind the other: where each begins, and how long it is."""

    values: NDArray[np.integer]
    starts: Ints
    lengths: Ints


class Ragged:
    """Rows of integers of unequal length, in chunks that stay where they are mapped.

    Attributes:
        lengths: `(N,)` of all rows.
    """

    def __init__(self, chunks: Sequence[_Chunk]) -> None:
        self._chunks = chunks
        self._first_rows = np.cumsum([0, *(len(chunk.starts) for chunk in chunks)])
        self.lengths: Ints = np.concatenate([chunk.lengths for chunk in chunks])

    @classmethod
    def of_arrow(cls, arrays: Iterable[pa.ListArray]) -> "Ragged":
        """Rows as Arrow keeps them."""
        offsets = [(array.offsets.to_numpy().astype(np.int64), array.values) for array in arrays]
        return cls([_Chunk(values.to_numpy(), ends[:-1], np.diff(ends)) for ends, values in offsets])

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """Rows in memory."""
        lengths = np.fromiter(map(len, rows), np.int64)
        values = np.fromiter((value for row in rows for value in row), np.int64)
        return cls([_Chunk(values, np.cumsum(lengths) - lengths, lengths)])

    def __len__(self) -> int:
        return len(self.lengths)

    def windows(self, length: int, overlap: int) -> "Ragged":
        """All rows as one stream, cut into windows; the last one of a chunk is shorter.

        Args:
            length: values from the beginning of a window to that of the next.
            overlap: values of the next one that a window has as well, at its end.
        """
        cut = []
        for values, starts, lengths in self._chunks:
            end = starts[-1] + lengths[-1]
            begins = np.arange(starts[0], end - overlap, length)
            cut.append(_Chunk(values, begins, np.minimum(length + overlap, end - begins)))
        return Ragged(cut)

    def padded(self, rows: Ints, lengths: Ints, padding: int) -> Ints:
        """The first values of some rows, padded on the right.

        Args:
            rows: `(B,)`.
            lengths: `(B,)`, how many values of each.
            padding: what follows them.

        Returns:
            `(B, longest)`.
        """
        filled = np.full((len(rows), lengths.max()), padding, dtype=np.int64)
        places = np.searchsorted(self._first_rows, rows, side="right") - 1
        # A row at a time: of a large corpus nearly every row is in a chunk of its own.
        for line, place, row, length in zip(
            filled, places, rows - self._first_rows[places], lengths, strict=True
        ):
            values, starts, _ = self._chunks[place]
            line[:length] = values[starts[row] : starts[row] + length]
        return filled
