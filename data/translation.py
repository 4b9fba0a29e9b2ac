"""The data module of every translation task: a corpus, a vocabulary, batches."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
from lightning.pytorch import LightningDataModule

from data.batching import TokenBatches, TokenBatchLoader
from data.corpus import Corpus
from data.pairs import EncodedPairs
from data.preparation import Prepared, prepare, vocabulary_hash
from data.vocabulary import Vocabulary
from zoo.spec import DataSpec
from zoo.text import text_spec

_log = logging.getLogger(__name__)


class TranslationData(LightningDataModule):
    """Sentence pairs as token batches.

    After `setup`:

    Attributes:
        spec: what a task must know of the data.
        test_splits: `test` first, then the corpus's other test splits.
        baselines: for each test split, `majority_exact_match` in [0, 1]: always answering the most frequent
            training target.
        report: for each split the number of `pairs`; for train how many were `dropped` as too long; for the
            others, which lose no pair, how many sources were `truncated`.
    """

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
            batch_tokens: at most so many padded tokens in a batch, on the fuller side; in each process.
            maximum_length: tokens of the longest sentence, EOS included. Longer pairs are not trained on; in
                evaluation longer sources lose their end. Both are counted in `report`.
            seed: of the order of training batches.
            cache_dir: where the prepared corpus is kept.
            num_workers: processes that load batches; 0 loads them in the training process.
            worker_timeout: seconds to wait for a batch from such a process before the run fails; 0 waits for
                ever.
            spec: the specification in a checkpoint: its vocabularies are used and none is trained.

        Raises:
            ValueError: a number is too small.
        """
        super().__init__()
        for name, value, least in (
            ("batch_tokens", batch_tokens, 1),
            ("maximum_length", maximum_length, 2),
            ("seed", seed, 0),
            ("num_workers", num_workers, 0),
            ("worker_timeout", worker_timeout, 0),
        ):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        self.corpus, self.tokenizer = corpus, tokenizer
        self.batch_tokens, self.maximum_length, self.seed = batch_tokens, maximum_length, seed
        self.cache_dir, self.num_workers, self.worker_timeout = Path(cache_dir), num_workers, worker_timeout
        self.baselines: dict[str, dict[str, float]] = {}
        self.report: dict[str, dict[str, int]] = {}
        self._given = spec
        self._spec: DataSpec | None = None
        self._prepared: Prepared | None = None
        self._pairs: dict[str, EncodedPairs] = {}
        self._place = (0, 0)

    @property
    def spec(self) -> DataSpec:
        """What a task must know of the data."""
        if self._spec is None:
            raise RuntimeError("the data's specification exists after setup()")
        return self._spec

    @property
    def test_splits(self) -> list[str]:
        """`test` first, then the corpus's other test splits."""
        return sorted(split for split in self._pairs if split.startswith("test"))

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
            self._pairs[split] = pairs
        self.baselines = {
            split: {"majority_exact_match": share} for split, share in prepared.majority.items()
        }
        self._spec = spec

    def train_dataloader(self) -> TokenBatchLoader:
        """Batches in an order of their own for each epoch; after `load_state_dict`, from its place on."""
        loader = self._loader("train", seed=self.seed)
        loader.batches.seek(*self._place)
        return loader

    def val_dataloader(self) -> TokenBatchLoader:
        """Every validation pair once, longest first."""
        return self._loader("val", seed=None)

    def test_dataloader(self) -> list[TokenBatchLoader]:
        """One loader for each of `test_splits`: every pair once, longest first."""
        return [self._loader(split, seed=None) for split in self.test_splits]

    def state_dict(self) -> dict[str, Any]:
        """How many batches of which epoch have been trained on, for the checkpoint."""
        assert self.trainer is not None  # it is the trainer that asks
        progress = self.trainer.fit_loop.epoch_loop.batch_progress.state_dict()["current"]
        return {"epoch": self.trainer.current_epoch, "batches": progress["processed"]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps the place for `train_dataloader`, which the trainer calls later."""
        self._place = (int(state_dict["epoch"]), int(state_dict["batches"]))

    def _prepare(self) -> Prepared:
        if self._prepared is None:  # once: its files are hashed at every start, to see that they are whole
            self._prepared = prepare(self.corpus, self._given or self.tokenizer, self.cache_dir)
        return self._prepared

    def _count(self, split: str, what: str, pairs: int) -> None:
        self.report[split][what] = pairs
        if pairs:
            _log.warning(
                "%s, split %s: %d of %d pairs %s, longer than maximum_length=%d tokens",
                *(self.corpus.name, split, pairs, self.report[split]["pairs"], what, self.maximum_length),
            )

    def _loader(self, split: str, seed: int | None) -> TokenBatchLoader:
        pairs = self._pairs[split]
        batches = TokenBatches(
            pairs.lengths,
            self.batch_tokens,
            seed=seed,
            replicas=self.trainer.world_size if self.trainer else 1,
            rank=self.trainer.global_rank if self.trainer else 0,
        )
        return TokenBatchLoader(pairs, batches, workers=self.num_workers, worker_timeout=self.worker_timeout)


def check_same_data(checkpoint: DataSpec, data: DataSpec) -> None:
    """Refuses data that is not what a checkpoint was trained with: its ids would mean other words.

    Raises:
        ValueError: names each difference.
    """
    differences = [
        f"{what}: {before} in the checkpoint, {now} in the data"
        for what, before, now in (
            ("name", checkpoint.name, data.name),
            ("languages", _languages(checkpoint), _languages(data)),
            ("vocabulary", checkpoint.vocabulary_hash[:12], data.vocabulary_hash[:12]),
            ("test split", checkpoint.test_hash[:12], data.test_hash[:12]),
        )
        if before != now
    ]
    if differences:
        raise ValueError("the checkpoint belongs to other data; " + "; ".join(differences))


def _languages(spec: DataSpec) -> str:
    return " to ".join(side.language or "-" for side in (spec.source, spec.target) if side)
