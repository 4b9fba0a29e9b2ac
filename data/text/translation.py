"""The data module of every translation task: a corpus, a vocabulary, batches."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data.core.batching import Layout, TokenBatches
from data.core.copies import counts, say_copies
from data.core.data_module import DataModule, check_same_data, require_at_least
from data.text.corpus import Corpus
from data.text.pairs import EncodedPairs
from data.text.vocabulary import MUCH_UNKNOWN, Vocabulary
from zoo.core.spec import DataSpec
from zoo.core.text import text_spec
from zoo.tasks.translation.batch import TranslationBatch

if TYPE_CHECKING:
    from data.text.preparation import Prepared

_log = logging.getLogger(__name__)


class TranslationData(DataModule):
    """Sentence pairs as token batches.

    After `setup`:

    Attributes:
        spec: what a task must know of the data.
        test_splits: `test` first, then the corpus's other test splits.
        baselines: for each test split, `majority_exact_match` in [0, 1]: always answering the most frequent
            training target.
        report: for each split the number of `pairs`, and which share of the tokens of each side is unknown
            (`unknown_source`, `unknown_target`); for train how many pairs were `dropped` as too long; for the
            others, which lose no pair, how many sources were `truncated`, and how many pairs are `in_train`
            or `in_val` as well.
    """

    batch_type = TranslationBatch

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
            corpus: the sentence pairs.
            tokenizer: how to make the vocabulary from the train split.
            batch_tokens: at most so many padded tokens in the batch of a step, on the fuller side; several
                processes share it out.
            maximum_length: tokens of the longest sentence, EOS included. Longer pairs are not trained on; in
                evaluation longer sources lose their end. Both are counted in `report`. References are scored
                whole; of longer ones teacher-forced metrics see the beginning.
            seed: of the order of training batches.
            cache_dir: where the prepared corpus is kept.
            num_workers: processes that load batches; 0 loads them in the training process.
            worker_timeout: seconds to wait for a batch from such a process before the run fails; 0 waits for
                ever.
            spec: the specification in a checkpoint: its vocabularies are used and none is trained.

        Raises:
            ValueError: a number is too small.
        """
        super().__init__(seed=seed, num_workers=num_workers, worker_timeout=worker_timeout)
        require_at_least(("batch_tokens", batch_tokens, 1), ("maximum_length", maximum_length, 2))
        self.corpus, self.tokenizer = corpus, tokenizer
        self.batch_tokens, self.maximum_length = batch_tokens, maximum_length
        self.cache_dir = Path(cache_dir)
        self._given = spec
        self._prepared: Prepared | None = None
        self._splits: dict[str, EncodedPairs] = {}  # type: ignore[assignment]

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
        from data.text.preparation import vocabulary_hash  # here, because it takes long

        if self._spec is not None:
            return
        prepared = self._prepare()
        source, target = (
            text_spec(tokenizer, maximum_length=self.maximum_length, language=language)
            for tokenizer, language in zip(prepared.tokenizers, self.corpus.languages, strict=True)
        )
        spec = DataSpec(
            name=self.corpus.name,
            source=source,
            target=target,
            test_hash=prepared.test_hash,
            vocabulary_hash=vocabulary_hash(prepared.tokenizers),
        )
        if self._given is not None:
            check_same_data(self._given, spec)
        for split, table in prepared.splits.items():
            pairs = EncodedPairs(table, source, target, truncate=split != "train")
            self.report[split] = {"pairs": len(table)}
            if split == "train":
                kept = np.flatnonzero(pairs.lengths.max(axis=1) <= self.maximum_length)
                self._count(split, "dropped", len(table) - len(kept))
                if not len(kept):
                    raise ValueError(
                        f"all {len(table)} training pairs of {self.corpus.name} have more than"
                        f" maximum_length={self.maximum_length} tokens"
                    )
                pairs = EncodedPairs(table, source, target, kept=kept)
            else:
                self._count(split, "truncated", pairs.truncated)
            self._splits[split] = pairs
            self._report_unknown(split, prepared.unknown[split])
            self.report[split] |= counts(prepared.copies, split)
        say_copies(
            f"{self.corpus.name} pairs",
            prepared.copies,
            lambda split, number: repr(prepared.splits[split][number]["source"]),
        )
        self.baselines = {
            split: {"majority_exact_match": share} for split, share in prepared.majority.items()
        }
        self._spec = spec

    def _prepare(self) -> "Prepared":
        from data.text.preparation import prepare  # here, because it takes long

        if self._prepared is None:  # once: its files are hashed at every start, to see that they are whole
            self._prepared = prepare(self.corpus, self._given or self.tokenizer, self.cache_dir)
        return self._prepared

    def _report_unknown(self, split: str, shares: Mapping[str, float]) -> None:
        self.report[split] |= {f"unknown_{side}": share for side, share in shares.items()}
        if max(shares.values()) > MUCH_UNKNOWN:
            _log.warning(
                "%s, split %s: the vocabulary does not know %s: is it too small (data.tokenizer), or the text"
                " of another kind than that of train?",
                *(self.corpus.name, split),
                " and ".join(f"{share:.0%} of the tokens of the {side}" for side, share in shares.items()),
            )

    def _count(self, split: str, what: str, pairs: int) -> None:
        self.report[split][what] = pairs
        if pairs:
            _log.warning(
                "%s, split %s: %d of %d pairs %s, longer than maximum_length=%d tokens",
                *(self.corpus.name, split, pairs, self.report[split]["pairs"], what, self.maximum_length),
            )

    def _batches(self, split: str, seed: int | None, layout: Layout) -> TokenBatches:
        lengths = self._splits[split].lengths
        return TokenBatches(lengths, self.batch_tokens, seed=seed, layout=layout)
