"""The data module of language modelling: a corpus of running text as windows of tokens."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from data.core.batching import Layout
from data.core.data_module import require_at_least
from data.text.columns import Text
from data.text.corpus import Corpus
from data.text.rows import RowBatch
from data.text.running.windows import Plan, PlannedBatches, RandomWindows, Stream, Windows
from data.text.text_data import TextData
from data.text.vocabulary import Vocabulary
from zoo.core.spec import DataSpec
from zoo.tasks.language_modelling.batch import TextBatch

if TYPE_CHECKING:
    from data.core.batching import Rows
    from data.text.preparation import Prepared


_log = logging.getLogger(__name__)


class LanguageData(TextData):
    """Running text in windows of the context's length, see `TextData`.

    To train on, windows are drawn at random, or `batch_size` columns of the text are read side by side,
    window behind window, so that a network's state can be carried on. Validation and tests read columns, too,
    every token once; what is left of the context at the beginning of a window is a matter of `stride`.

    Attributes:
        reading: how evaluation reads the text, in words, for signatures.
    """

    batch_type = TextBatch
    needs: ClassVar = {"text": (Text,)}
    noun: ClassVar[str] = "documents"

    def __init__(
        self,
        *,
        corpus: Corpus,
        tokenizer: Vocabulary,
        batch_size: int,
        maximum_length: int,
        shuffled: bool,
        seed: int,
        cache_dir: str | Path,
        stride: int | None = None,
        apart: bool = False,
        evaluation_batch_size: int | None = None,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet; other arguments as for `TextData`.

        Args:
            corpus: see there.
            tokenizer: see there.
            batch_size: windows in the batch of a step; several processes share them out.
            maximum_length: tokens of a window: the context.
            shuffled: whether windows to train on are drawn at random, as many in an epoch as the text has
                side by side. False: the text is read from its beginning to its end.
            seed: of the places of windows.
            cache_dir: see there.
            stride: tokens from a window to the next in validation and tests, of which each window predicts as
                many, with the others before them as their context. None: the length of a window.
            apart: whether documents are kept apart: no window crosses the end of one.
            evaluation_batch_size: windows in a batch of validation and tests; None: `batch_size`.
            num_workers: see there.
            worker_timeout: see there.
            spec: see there.

        Raises:
            ValueError: a number is too small, or the corpus lacks the column.
        """
        evaluated = batch_size if evaluation_batch_size is None else evaluation_batch_size
        require_at_least(("batch_size", batch_size, 1), ("evaluation_batch_size", evaluated, 1))
        if stride is not None and not 1 <= stride <= maximum_length:
            raise ValueError(
                f"stride must be from 1 to maximum_length={maximum_length}, or null, got {stride}"
            )
        if apart and shuffled:
            raise ValueError("shuffled windows begin anywhere, which cannot keep documents apart: apart=true")
        super().__init__(
            corpus=corpus,
            tokenizer=tokenizer,
            batch_tokens=batch_size * maximum_length,
            maximum_length=maximum_length,
            seed=seed,
            cache_dir=cache_dir,
            num_workers=num_workers,
            worker_timeout=worker_timeout,
            spec=spec,
        )
        self.batch_size, self.evaluation_batch_size = batch_size, evaluated
        self.stride, self.apart, self.shuffled = stride or maximum_length, apart, shuffled
        self._splits: dict[str, Windows] = {}  # type: ignore[assignment]
        self._planned: dict[str, list[Rows]] = {}

    @staticmethod
    def collate(rows: RowBatch) -> Any:
        """Not used: windows make batches."""
        raise NotImplementedError

    @property
    def reading(self) -> str:
        """How evaluation reads the text."""
        windows = f"windows of {self.maximum_length} tokens, each {self.stride} behind the last"
        return f"{windows}, {'one document' if self.apart else 'all documents'} at a time"

    def _rows(self, split: str, prepared: Prepared, spec: DataSpec) -> Windows:  # type: ignore[override]
        stream = Stream(prepared.splits[split].data.column("text_ids").chunks)
        training, padding = split == "train", spec.text("text").pad
        rows = self.batch_size if training else self.evaluation_batch_size
        ends = stream.starts if self.apart else stream.starts[[0, -1]]
        plan = Plan.through(
            ends, context=self.maximum_length, stride=self.maximum_length if training else self.stride
        )
        if not len(plan.starts):
            raise ValueError(f"split {split} of {self.corpus.name} has no token that follows another")
        self.report[split] = {self.noun: len(stream.starts) - 1, "tokens": len(stream)}
        shuffled = training and self.shuffled
        if training:
            self._warn_of_short_text(len(stream), len(plan.starts))
        plan, self._planned[split] = plan.side_by_side(rows, whole=training)
        if shuffled:
            count = max(1, len(plan.starts) // rows) * rows
            self._planned[split] = np.split(np.arange(count), np.arange(rows, count, rows))
            plan = plan.of(np.resize(np.arange(len(plan.starts)), count))
            return RandomWindows(stream, plan, padding, context=self.maximum_length, seed=self.seed)
        return Windows(stream, plan, padding)

    def _warn_of_short_text(self, tokens: int, windows: int) -> None:
        where = f"split train of {self.corpus.name} has {tokens:,} tokens"
        if tokens <= self.maximum_length:
            _log.warning(
                "%s, and data.maximum_length=%d: every window is all of it", where, self.maximum_length
            )
        elif windows < self.batch_size and not self.shuffled:
            _log.warning(
                "%s, which are %d windows of data.maximum_length=%d: batches have these in place of"
                " data.batch_size=%d",
                *(where, windows, self.maximum_length, self.batch_size),
            )

    def _batches(  # type: ignore[override]
        self, split: str, seed: int | None, layout: Layout
    ) -> PlannedBatches:
        lengths = self._splits[split].plan.lengths
        return PlannedBatches(
            self._planned[split], sizes=lambda _, rows: lengths[rows], seed=seed, layout=layout
        )
