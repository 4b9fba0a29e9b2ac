"""Windows of a stream of tokens, side by side or drawn at random, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from data.core.batching import Batches, Layout, Part, Rows
from zoo.tasks.language_modelling.batch import TextBatch

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

Ints = NDArray[np.int64]


class Stream:
    """The tokens of all documents, one behind the other, where they are mapped.

    Attributes:
        starts: `(documents + 1,)`, where each document begins, and the end of the last.
    """

    def __init__(self, arrays: Iterable[pa.ListArray]) -> None:
        """Reads nothing yet; `arrays` have a list of ids for each document."""
        arrays = list(arrays)
        self._chunks = [array.flatten().to_numpy() for array in arrays]
        self._first = np.cumsum([0, *map(len, self._chunks)])
        lengths = [np.diff(array.offsets.to_numpy().astype(np.int64)) for array in arrays]
        self.starts: Ints = np.cumsum(np.concatenate([[0], *lengths]))

    def __len__(self) -> int:
        return int(self._first[-1])

    def read(self, start: int, length: int) -> NDArray[np.integer]:
        """Some tokens."""
        chunk = int(np.searchsorted(self._first, start, side="right")) - 1
        parts, end = [], start + length
        while start < end:
            first, values = self._first[chunk], self._chunks[chunk]
            parts.append(values[start - first : end - first])
            start, chunk = start + len(parts[-1]), chunk + 1
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Plan(NamedTuple):
    """Which tokens each of M windows reads and predicts, all `(M,)`.

    Attributes:
        starts: the first token that it reads.
        lengths: how many it reads; it predicts the token behind each.
        known: how many of these predictions a window before has made already.
        begins: whether nothing is carried on to it.
    """

    starts: Ints
    lengths: Ints
    known: Ints
    begins: NDArray[np.bool_]

    @classmethod
    def through(cls, ends: Ints, *, context: int, stride: int) -> Plan:
        """Windows through a stream, none of which crosses an end; each token but the first is predicted once.

        Args:
            ends: where a part of the stream begins, and the end of the last.
            context: tokens of a window; the last one of a part is shorter.
            stride: tokens from the beginning of a window to that of the next.
        """
        parts = []
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            # The last window is the first that reaches the end.
            count = max(1, -(-(end - start - 1 - context) // stride) + 1)
            if end - start < 2:
                continue
            starts = start + stride * np.arange(count)
            lengths = np.minimum(context, end - 1 - starts)
            known = np.full(count, context - stride)
            known[0] = 0
            parts.append((starts, lengths, known, np.arange(count) == 0))
        if not parts:
            empty = np.zeros(0, np.int64)
            return cls(empty, empty, empty, empty.astype(bool))
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def of(self, rows: Rows) -> Plan:
        """Some windows."""
        return Plan(self.starts[rows], self.lengths[rows], self.known[rows], self.begins[rows])

    def side_by_side(self, rows: int, *, whole: bool) -> tuple[Plan, list[Rows]]:
        """The windows in as many columns, each of neighbours, and batches of one window from each column.

        Args:
            rows: columns, fewer where there are not as many windows.
            whole: whether windows at the end are left out, so that all batches are as large.

        Returns:
            The plan, which says where columns begin, and the batches.
        """
        count = len(self.starts)
        rows = min(rows, count)
        columns = np.array_split(np.arange(count - count % rows if whole else count), rows)
        begins = self.begins.copy()
        begins[[column[0] for column in columns]] = True
        longest = max(map(len, columns))
        batches = [np.array([one[step] for one in columns if step < len(one)]) for step in range(longest)]
        return self._replace(begins=begins), batches


class Windows(Dataset[TextBatch]):
    """The windows of a plan; indexed by `Part`, it makes whole batches."""

    def __init__(self, stream: Stream, plan: Plan, padding: int) -> None:
        self._stream, self.plan, self._padding = stream, plan, padding

    def __len__(self) -> int:
        return len(self.plan.starts)

    def __getitem__(self, chosen: Part) -> TextBatch:
        """The batch of some windows, in that order."""
        rows = np.asarray(chosen.rows)
        return self._batch(chosen, self.plan.of(rows))

    def _batch(self, chosen: Part, plan: Plan) -> TextBatch:
        starts, lengths, known, begins = plan
        longest = int(lengths.max())
        read = np.full((len(starts), longest + 1), self._padding)
        for row, start, length in zip(read, starts.tolist(), lengths.tolist(), strict=True):
            row[: length + 1] = self._stream.read(start, length + 1)
        place = np.arange(longest)
        tokens = np.where(place < lengths[:, None], read[:, :-1], self._padding)
        targets = np.where(place >= known[:, None], read[:, 1:], self._padding)
        return TextBatch(
            index=torch.from_numpy(np.asarray(chosen.rows, np.int64)),
            tokens=torch.from_numpy(tokens),
            targets=torch.from_numpy(targets),
            carried=torch.from_numpy(~begins),
            loss_weight=chosen.loss_weight,
        )


class RandomWindows(Windows):
    """As many windows as the plan has, which begin anywhere: where, seed and epoch decide."""

    def __init__(self, stream: Stream, plan: Plan, padding: int, *, context: int, seed: int) -> None:
        super().__init__(stream, plan, padding)
        self._context, self._seed = min(context, len(stream) - 1), seed
        self._drawn: tuple[int, Ints] | None = None

    def __getitem__(self, chosen: Part) -> TextBatch:
        """The batch of some windows of an epoch, in that order."""
        if self._drawn is None or self._drawn[0] != chosen.epoch:
            generator = np.random.default_rng((self._seed, chosen.epoch))
            places = generator.integers(len(self._stream) - self._context, size=len(self))
            self._drawn = chosen.epoch, places
        starts = self._drawn[1][np.asarray(chosen.rows)]
        lengths = np.full(len(starts), self._context)
        plan = Plan(starts, lengths, np.zeros_like(starts), np.ones(len(starts), bool))
        return self._batch(chosen, plan)


class PlannedBatches(Batches):
    """Batches that are the same in every epoch, in the same order; see `Batches`."""

    def __init__(
        self,
        batches: list[Rows],
        *,
        sizes: Callable[[int, Rows], Any] | None,
        seed: int | None,
        layout: Layout | None = None,
    ) -> None:
        self._planned = batches
        super().__init__(
            [0, *np.cumsum([len(one) for one in batches]).tolist()], sizes=sizes, seed=seed, layout=layout
        )

    def _batches(self) -> list[Rows]:
        return self._planned
