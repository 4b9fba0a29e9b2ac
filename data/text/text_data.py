"""The data module of every task on texts: a corpus, its vocabularies, batches."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from data.core.batching import Layout, TokenBatches
from data.core.copies import counts, say_copies
from data.core.data_module import DataModule, check_same_data, require_at_least
from data.text.columns import Column, Degree, Label, Sentences, Text
from data.text.corpus import Corpus
from data.text.rows import EncodedRows, RowBatch, text_readers
from data.text.vocabulary import MUCH_UNKNOWN, Vocabulary
from zoo.core.spec import DataSpec, DegreeSpec, FieldSpec, LabelSpec
from zoo.core.text import text_spec

if TYPE_CHECKING:
    from data.text.preparation import Prepared

_log = logging.getLogger(__name__)

_SHOWN = 200
"""Characters of a text in a message."""


class TextData(DataModule):
    """Rows of a corpus as token batches; a derived class makes its task's batch of them, in `collate`.

    Class attributes:
        needs: the columns that the corpus must have, each with the kinds that it may be of.
        noun: what rows are, for reports.
        drops_long: whether longer texts than the maximum are left out of training; else they lose their end.
        stream: whether the corpus's one text is a stream, cut into windows of the maximum length.
        loss_over: the column over whose tokens the loss is a mean; empty where it is one over rows.
        maximum_sentences: of a document, which loses its end beyond.

    After `setup`:

    Attributes:
        spec: what a task must know of the data, a field for each text, document, label and degree.
        test_splits: `test` first, then the corpus's other test splits.
        report: for each split the number of rows, by their `noun`, and which share of the tokens of each text
            is unknown (`unknown_<column>`); how many rows were `dropped` from train as too long, or
            `truncated`; of rows to evaluate on, how many have texts that are `in_train` or `in_val` as well.
    """

    needs: ClassVar[Mapping[str, tuple[type[Column], ...]]]
    noun: ClassVar[str] = "texts"
    drops_long: ClassVar[bool] = False
    stream: ClassVar[bool] = False
    loss_over: ClassVar[str] = ""
    maximum_sentences: int = 50

    def __init__(
        self,
        *,
        corpus: Corpus,
        tokenizer: Vocabulary,
        batch_tokens: int,
        maximum_length: int,
        seed: int,
        cache_dir: str | Path,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet.

        Args:
            corpus: the texts.
            tokenizer: how to make the vocabularies from the train split.
            batch_tokens: at most so many padded tokens in the batch of a step, of its fullest text; several
                processes share it out.
            maximum_length: tokens of the longest sentence, EOS included. Longer ones are counted in
                `report`. References are scored whole; teacher-forced metrics see their beginning.
            seed: of the order of training batches.
            cache_dir: where the prepared corpus is kept.
            num_workers: see `DataModule`.
            worker_timeout: see there.
            spec: the specification in a checkpoint: its vocabularies and classes are used, and none is made.

        Raises:
            ValueError: a number is too small, or the corpus lacks a column.
        """
        super().__init__(seed=seed, num_workers=num_workers, worker_timeout=worker_timeout)
        require_at_least(("batch_tokens", batch_tokens, 1), ("maximum_length", maximum_length, 2))
        self._check_columns(corpus)
        self.corpus, self.tokenizer = corpus, tokenizer
        self.batch_tokens, self.maximum_length = batch_tokens, maximum_length
        self.cache_dir = Path(cache_dir)
        self._given = spec
        self._prepared: Prepared | None = None
        self._splits: dict[str, EncodedRows] = {}  # type: ignore[assignment]

    @staticmethod
    @abstractmethod
    def collate(rows: RowBatch) -> Any:
        """The task's batch of some rows."""

    def placeholder(self) -> dict[str, FieldSpec]:
        """See `DataModule`: the sides have one vocabulary where they will."""
        words = {
            name: self.tokenizer.placeholder("text" if self.tokenizer.joint else name)
            for name, column in self.corpus.columns.items()
            if isinstance(column, Text | Sentences)
        }
        return self._fields(words, {})

    def check_files(self) -> None:
        """Sees before a run that what cannot be downloaded is there.

        Raises:
            FileNotFoundError: a file is missing.
        """
        self.corpus.check_files()

    def prepare_data(self) -> None:
        """Tokenises the corpus to disk unless it is there; under several processes, only one calls this."""
        self._prepare()

    def setup(self, stage: str | None = None) -> None:
        """Maps the prepared corpus into memory.

        Raises:
            ValueError: the corpus is not usable, or it is not the one of the given specification.
            FileNotFoundError: the corpus's files are missing and cannot be downloaded.
        """
        if self._spec is not None:
            return
        prepared = self._prepare()
        spec = DataSpec(
            name=self.corpus.name,
            fields=self._fields(prepared.tokenizers, prepared.classes),
            test_hash=prepared.test_hash,
            vocabulary_hash=prepared.vocabulary_hash,
        )
        if self._given is not None:
            check_same_data(self._given, spec)
        for split in prepared.splits:
            self._splits[split] = self._rows(split, prepared, spec)
            self._report_unknown(split, prepared.unknown[split])
            self.report[split] |= counts(prepared.copies, split)
        first = next(iter(prepared.tokenizers))
        say_copies(
            f"{self.corpus.name} {self.noun}",
            prepared.copies,
            lambda split, number: _shown(prepared.splits[split][number][first]),
        )
        self.baselines = self._baselines(prepared)
        self._spec = spec

    def _baselines(self, prepared: Prepared) -> dict[str, dict[str, float]]:
        """For each test split, what an answer without a model scores; see `Prepared.majority`."""
        return {}

    def _check_columns(self, corpus: Corpus) -> None:
        for name, kinds in self.needs.items():
            if not isinstance(corpus.columns.get(name), kinds):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                there = ", ".join(
                    f"{one} ({type(column).__name__})" for one, column in corpus.columns.items()
                )
                raise ValueError(
                    f"corpus {corpus.name} must have a column {name} ({wanted}) for {type(self).__name__};"
                    f" it has {there}"
                )

    def _fields(
        self, tokenizers: Mapping[str, str], classes: Mapping[str, tuple[str, ...]]
    ) -> dict[str, FieldSpec]:
        fields: dict[str, FieldSpec] = {}
        for name, column in self.corpus.columns.items():
            match column:
                case Text(language=language) | Sentences(language=language):
                    fields[name] = text_spec(
                        tokenizers[name],
                        maximum_length=self.maximum_length,
                        language=language,
                        maximum_sentences=self.maximum_sentences if isinstance(column, Sentences) else 1,
                    )
                case Label(classes=names):
                    fields[name] = LabelSpec(classes.get(name, names))
                case Degree(lowest=lowest, highest=highest):
                    fields[name] = DegreeSpec(lowest, highest)
        return fields

    def _rows(self, split: str, prepared: Prepared, spec: DataSpec) -> EncodedRows:
        """The rows of a split that batches are made of."""
        table, columns = prepared.splits[split], self.corpus.columns
        dropping = split == "train" and self.drops_long
        texts = text_readers(table, columns, spec, whole=dropping, stream=self.stream)
        self.report[split] = {self.noun: len(table)}
        longest = np.max([one.lengths for one in texts.values()], axis=0)
        kept = np.arange(len(longest))
        if dropping:
            kept = np.flatnonzero(longest <= self.maximum_length)
            self._count(split, "dropped", len(table) - len(kept))
            if not len(kept):
                raise ValueError(
                    f"all {len(table)} training {self.noun} of {self.corpus.name} have more than"
                    f" maximum_length={self.maximum_length} tokens"
                )
        elif not self.stream:
            self._count(split, "truncated", int(np.any([one.cut for one in texts.values()], axis=0).sum()))
        return EncodedRows(table, columns, spec, texts, kept, self.collate)

    def _prepare(self) -> Prepared:
        if self._prepared is None:  # once: its files are hashed at every start, to see that they are whole
            from data.text.preparation import prepare  # here, because it takes long to import

            self._prepared = prepare(self.corpus, self._given or self.tokenizer, self.cache_dir)
        return self._prepared

    def _report_unknown(self, split: str, shares: Mapping[str, float]) -> None:
        self.report[split] |= {f"unknown_{name}": share for name, share in shares.items()}
        if max(shares.values()) > MUCH_UNKNOWN:
            _log.warning(
                "%s, split %s: the vocabulary does not know %s: is it too small (data.tokenizer), or the text"
                " of another kind than that of train?",
                *(self.corpus.name, split),
                " and ".join(f"{share:.0%} of the tokens of the {name}" for name, share in shares.items()),
            )

    def _count(self, split: str, what: str, rows: int) -> None:
        self.report[split][what] = rows
        if rows:
            _log.warning(
                "%s, split %s: %d of %d %s %s, longer than maximum_length=%d tokens",
                *(self.corpus.name, split, rows, self.report[split][self.noun], self.noun, what),
                self.maximum_length,
            )

    def _batches(self, split: str, seed: int | None, layout: Layout) -> TokenBatches:
        lengths = self._splits[split].lengths
        sizes = lengths[self.loss_over] if self.loss_over else np.ones(len(self._splits[split]), np.int64)
        both = np.stack(list(lengths.values()), axis=1)
        return TokenBatches(both, self.batch_tokens, sizes=sizes, seed=seed, layout=layout)


def _shown(text: str | list[str]) -> str:
    """The beginning of a text or document, for a message."""
    words = text if isinstance(text, str) else " ".join(text)
    return repr(words if len(words) <= _SHOWN else f"{words[:_SHOWN]} ...")
