"""Prepared rows on disk, read some at a time as tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from data.core.batching import Part
from data.core.ragged import Ints, Ragged
from data.text.columns import Alignment, Column, Degree, Label, Place, Sentences, Text
from zoo.core.batch import Documents, Padded, grouped_documents
from zoo.core.spec import DataSpec, TextSpec

if TYPE_CHECKING:
    from datasets import Dataset as Table


@dataclass
class RowBatch:
    """Some rows, of which a data module makes its task's batch.

    Attributes:
        spec: of the data.
        index: `(B,)` int64, the number of each row in its split.
        loss_weight: see `data.core.batching.Part`.
        text: by column, ids ending in EOS where the text has it, without BOS.
        documents: by column, the same of each sentence.
        values: by column, `(B,)` labels and groups (int64) or degrees (float32), alignments `(B, T)`, or
            places `(B, 1)`, of documents `(B, 2)`.
        raw: by column, raw texts, and of documents lists of sentences; empty of windows of a stream.
    """

    spec: DataSpec
    index: Tensor
    loss_weight: float
    text: dict[str, Padded] = field(default_factory=dict)
    documents: dict[str, Documents] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)
    raw: dict[str, list[Any]] = field(default_factory=dict)


class Reader(Protocol):
    """Reads what is stored of a column."""

    def add(self, batch: RowBatch, name: str, rows: Ints) -> None:
        """Puts some rows of the column of that name into a batch."""


class TextReader(Reader, Protocol):
    """Reads a column of ids.

    Attributes:
        lengths: `(N,)` tokens that a batch holds of each row.
        cut: `(N,)`, which rows lose their end.
    """

    lengths: Ints
    cut: NDArray[np.bool_]


class SentenceReader:
    """Reads rows of one sentence each; see `TextReader`."""

    def __init__(self, ids: Ragged, spec: TextSpec, *, whole: bool) -> None:
        """Reads nothing yet.

        Args:
            ids: of all sentences.
            spec: describes them.
            whole: whether those beyond the maximum length are left as they are.
        """
        self._ids, self._spec = ids, spec
        self.cut = np.zeros(len(ids), bool) if whole else ids.lengths > spec.maximum_length
        self.lengths: Ints = np.where(self.cut, spec.maximum_length, ids.lengths)

    def add(self, batch: RowBatch, name: str, rows: Ints) -> None:
        """See `Reader`."""
        batch.text[name] = self.padded(rows)

    def holds(self, rows: Ints, places: Ints) -> NDArray[np.bool_]:
        """Whether batches hold the words at some places `(B, 1)`: `(B,)`. A cut sentence ends in EOS, too."""
        held: NDArray[np.bool_] = places[:, -1] < self.lengths[rows] - self._spec.added
        return held

    def padded(self, rows: Ints) -> Padded:
        """Some sentences; one that is cut ends in EOS all the same."""
        lengths = self.lengths[rows]
        ids = self._ids.padded(rows, lengths, self._spec.pad)
        if self._spec.end is not None:
            cut = np.flatnonzero(self.cut[rows])
            ids[cut, lengths[cut] - 1] = self._spec.end
        return Padded(torch.from_numpy(ids), torch.from_numpy(lengths))


class WindowReader:
    """Reads all texts as one stream, cut into windows; see `TextReader`.

    A window has one token more than the maximum length, which is the first of the next: every token but the
    first is predicted once, and `lengths` counts those.
    """

    def __init__(self, ids: Ragged, spec: TextSpec) -> None:
        """Reads nothing yet; arguments as for `SentenceReader`."""
        self._windows, self._padding = ids.windows(spec.maximum_length, 1), spec.pad
        self.lengths: Ints = self._windows.lengths - 1
        self.cut = np.zeros(len(self.lengths), bool)

    def add(self, batch: RowBatch, name: str, rows: Ints) -> None:
        """See `Reader`."""
        lengths = self.lengths[rows] + 1
        ids = self._windows.padded(rows, lengths, self._padding)
        batch.text[name] = Padded(torch.from_numpy(ids), torch.from_numpy(lengths))


class DocumentReader:
    """Reads rows of one document each; see `TextReader`."""

    def __init__(self, table: Table, name: str, spec: TextSpec) -> None:
        """Reads nothing yet.

        Args:
            table: where the ids are.
            name: of the column.
            spec: describes it; longer sentences, and longer documents, lose their end.
        """
        chunks = table.data.column(f"{name}_ids").chunks
        self._sentences = SentenceReader(Ragged.of_arrow(one.values for one in chunks), spec, whole=False)
        first = np.cumsum([0, *(len(one.values) for one in chunks)])
        offsets = [one.offsets.to_numpy() + start for one, start in zip(chunks, first[:-1], strict=True)]
        self._starts: Ints = np.concatenate([one[:-1] for one in offsets])
        counts = np.concatenate([np.diff(one) for one in offsets])
        self._counts: Ints = np.minimum(counts, spec.maximum_sentences)
        self.lengths: Ints = self._summed(self._sentences.lengths)
        self.cut = (counts > self._counts) | (self._summed(self._sentences.cut) > 0)

    def holds(self, rows: Ints, places: Ints) -> NDArray[np.bool_]:
        """Whether batches hold the words at some places `(B, 2)`: `(B,)`."""
        there: NDArray[np.bool_] = places[:, 0] < self._counts[rows]
        sentences = self._starts[rows] + np.where(there, places[:, 0], 0)
        return there & self._sentences.holds(sentences, places)

    def _summed(self, numbers: NDArray[Any]) -> Ints:
        """What the sentences of each document have together."""
        sums = np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64)
        totals: Ints = sums[self._starts + self._counts] - sums[self._starts]
        return totals

    def add(self, batch: RowBatch, name: str, rows: Ints) -> None:
        """See `Reader`."""
        counts = self._counts[rows]
        there = np.arange(counts.max()) < counts[:, None]
        sentences = (self._starts[rows, None] + np.arange(counts.max()))[there]
        batch.documents[name] = grouped_documents(
            counts.tolist(),
            self._sentences.lengths[sentences].tolist(),
            lambda group: self._sentences.padded(sentences[group]),
        )


class PlaceReader:
    """Reads which token of a text decides; -1 where none does, or it was cut off. See `Reader`."""

    def __init__(self, places: Ints, text: SentenceReader | DocumentReader, spec: TextSpec) -> None:
        """Reads nothing yet.

        Args:
            places: `(N, 1)` words of texts, or `(N, 2)` sentences of documents and words in them.
            text: reads the texts.
            spec: describes them.
        """
        self._places, self._text, self._before = places, text, "cls" in spec.special

    def add(self, batch: RowBatch, name: str, rows: Ints) -> None:
        """See `Reader`."""
        places = self._places[rows]
        tokens = places.copy()
        tokens[:, -1] += self._before
        held = (places >= 0).all(1) & self._text.holds(rows, places.clip(0))
        batch.values[name] = torch.from_numpy(np.where(held[:, None], tokens, -1))


class ValueReader:
    """Reads a number of each row, which lie in memory; see `Reader`."""

    def __init__(self, table: Table, name: str, kind: type[np.number[Any]]) -> None:
        """Reads the numbers.

        Args:
            table: where they are.
            name: of the stored column.
            kind: which numbers they become.
        """
        self._values = table.data.column(name).to_numpy().astype(kind)

    def add(self, batch: RowBatch, name: str, rows: Ints) -> None:
        """See `Reader`."""
        batch.values[name] = torch.from_numpy(self._values[rows])


class AlignmentReader:
    """Reads the position behind each token of a text; -1 where that was cut off. See `Reader`."""

    def __init__(self, positions: Ragged, source: TextReader, target: TextReader) -> None:
        """Reads nothing yet.

        Args:
            positions: of all rows.
            source: of the text that they are places in.
            target: of the text whose tokens have them.
        """
        self._positions, self._source, self._target = positions, source, target

    def add(self, batch: RowBatch, name: str, rows: Ints) -> None:
        """See `Reader`."""
        positions = self._positions.padded(rows, self._target.lengths[rows], -1)
        there = positions < self._source.lengths[rows, None]
        batch.values[name] = torch.from_numpy(np.where(there, positions, -1))


def text_readers(
    table: Table, columns: Mapping[str, Column], spec: DataSpec, *, whole: bool, stream: bool
) -> dict[str, TextReader]:
    """Readers of all texts and documents.

    Args:
        table: see `data.text.preparation.Prepared`.
        columns: those of the corpus.
        spec: describes them.
        whole: whether texts beyond their maximum length are left as they are; references always are.
        stream: whether a text is read as windows of one stream.
    """
    readers: dict[str, TextReader] = {}
    for name, column in columns.items():
        if isinstance(column, Sentences):
            readers[name] = DocumentReader(table, name, spec.text(name))
        elif isinstance(column, Text):
            ids = Ragged.of_arrow(table.data.column(f"{name}_ids").chunks)
            left = whole or column.reference
            text = spec.text(name)
            readers[name] = WindowReader(ids, text) if stream else SentenceReader(ids, text, whole=left)
    return readers


class EncodedRows(Dataset[Any]):
    """Rows of one split; indexed by `Part`, it makes whole batches.

    Attributes:
        lengths: by text or document, `(N,)` tokens that a batch holds of it.
    """

    def __init__(
        self,
        table: Table,
        columns: Mapping[str, Column],
        spec: DataSpec,
        texts: Mapping[str, TextReader],
        kept: Ints,
        collate: Callable[[RowBatch], Any],
    ) -> None:
        """Reads nothing but labels and the like.

        Args:
            table: see `data.text.preparation.Prepared`.
            columns: those of the corpus.
            spec: describes them.
            texts: see `text_readers`.
            kept: `(N,)`, the rows that batches are made of.
            collate: makes a task's batch of rows.
        """
        self._spec, self._kept, self._collate = spec, kept, collate
        self._readers: dict[str, Reader] = dict(texts)
        for name, column in columns.items():
            if isinstance(column, Alignment):
                positions = Ragged.of_arrow(table.data.column(name).chunks)
                self._readers[name] = AlignmentReader(positions, texts[column.source], texts[column.target])
            elif isinstance(column, Place):
                text = texts[column.text]
                assert isinstance(text, SentenceReader | DocumentReader), "no window has a place"
                places = np.array(table[name][:], np.int64)
                self._readers[name] = PlaceReader(places, text, spec.text(column.text))
            elif name not in texts:
                stored = f"{name}_ids" if isinstance(column, Label) else name
                kind = np.float32 if isinstance(column, Degree) else np.int64
                self._readers[name] = ValueReader(table, stored, kind)
        windows = any(isinstance(one, WindowReader) for one in texts.values())
        self._raw = None if windows else table.select_columns(list(texts))
        self.lengths = {name: one.lengths[kept] for name, one in texts.items()}

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, chosen: Part) -> Any:
        """The batch of some rows, in that order."""
        rows = self._kept[chosen.rows]
        batch = RowBatch(self._spec, torch.from_numpy(rows), chosen.loss_weight)
        for name, reader in self._readers.items():
            reader.add(batch, name, rows)
        if self._raw is not None:
            batch.raw = {name: list(texts) for name, texts in self._raw[rows].items()}
        return self._collate(batch)
