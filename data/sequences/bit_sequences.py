"""Sequences of bit vectors in batches: made on the spot, with nothing to download."""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from torch.utils.data import Dataset

from data.core.batching import Layout, Part, ShuffledBatches
from data.core.data_module import DataModule, check_same_data, require_at_least
from data.core.keyed_random import keys, split_key
from data.images.image_set import numbered
from zoo.core.bit_sequences import BitSequence, BitSequences
from zoo.core.spec import DataSpec, FieldSpec, VectorSpec
from zoo.tasks.memory.batch import SequenceBatch

LARGEST = 1000
"""The largest size that can be measured apart."""


class BitSequenceData(DataModule):
    """Sequences of one kind in batches; those to train on are new in every epoch.

    A sequence is a function of seed, epoch and index alone; one of another split of its index alone: every
    run, whatever its seed, is measured on the same ones. In those splits there are sequences of the sizes of
    training, and behind them some of each size in `beyond`.

    After `setup`:

    Attributes:
        spec: the widths of `inputs` and `targets`.
        test_splits: `test`.
        report: for each split the number of `sequences`.
    """

    batch_type = SequenceBatch

    def __init__(
        self,
        *,
        sequences: BitSequences,
        train_sequences: int,
        validation_sequences: int,
        test_sequences: int,
        beyond: Sequence[int],
        sequences_beyond: int,
        batch_size: int,
        evaluation_batch_size: int,
        seed: int,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Makes nothing yet.

        Args:
            sequences: their kind.
            train_sequences: in an epoch.
            validation_sequences: of the sizes of training.
            test_sequences: likewise.
            beyond: sizes that validation and test measure apart.
            sequences_beyond: of each such size.
            batch_size: sequences in a batch to train on.
            evaluation_batch_size: in a batch of the other splits.
            seed: of training sequences and their order.
            num_workers: see `DataModule`.
            worker_timeout: see there.
            spec: the specification in a checkpoint, with which the data must agree.

        Raises:
            ValueError: a number is too small or too large.
        """
        super().__init__(seed=seed, num_workers=num_workers, worker_timeout=worker_timeout)
        require_at_least(
            ("train_sequences", train_sequences, 1),
            ("validation_sequences", validation_sequences, 1),
            ("test_sequences", test_sequences, 1),
            ("sequences_beyond", sequences_beyond, 1),
            ("batch_size", batch_size, 1),
            ("evaluation_batch_size", evaluation_batch_size, 1),
            *(("beyond", size, sequences.shortest) for size in beyond),
        )
        if beyond and max(beyond) > LARGEST:
            raise ValueError(f"beyond must have sizes up to {LARGEST}, got {max(beyond)}")
        if len(set(beyond)) < len(beyond):
            raise ValueError(f"beyond must have every size once, got {list(beyond)}")
        self.sequences, self.beyond, self.batch_size = sequences, tuple(beyond), batch_size
        self.evaluation_batch_size = evaluation_batch_size
        self._counts = {"train": train_sequences, "val": validation_sequences, "test": test_sequences}
        self._sequences_beyond = sequences_beyond
        self._given = spec

    def placeholder(self) -> dict[str, FieldSpec]:
        """The widths."""
        return {"inputs": VectorSpec(self.sequences.channels), "targets": VectorSpec(self.sequences.outputs)}

    def setup(self, stage: str | None = None) -> None:
        """Plans the splits.

        Raises:
            ValueError: the sequences are not those of the given specification.
        """
        if self._spec is not None:
            return
        apart = np.repeat(np.array(self.beyond, np.int64), self._sequences_beyond)
        splits = {
            split: Sequences(
                self.sequences,
                numbered(split, count if split == "train" else count + len(apart)),
                np.empty(0, np.int64) if split == "train" else apart,
                key=split_key(split, self.seed),
            )
            for split, count in self._counts.items()
        }
        spec = DataSpec(
            name=self.sequences.name,
            fields=self.placeholder(),
            test_hash=splits["test"].content_hash(),
            vocabulary_hash=hashlib.sha256(repr(self.placeholder()).encode()).hexdigest(),
        )
        if self._given is not None:
            check_same_data(self._given, spec)
        self.report = {split: {"sequences": len(one)} for split, one in splits.items()}
        best = splits["test"].best_bits()
        self.baselines = {} if best is None else {"test": {"optimal_bits_per_sequence": best}}
        self._splits = dict(splits)
        self._spec = spec

    def _batches(self, split: str, seed: int | None, layout: Layout) -> ShuffledBatches:
        size = self.evaluation_batch_size if seed is None else self.batch_size
        made: Sequences = self._splits[split]  # type: ignore[assignment]
        return ShuffledBatches(len(made), size, seed=seed, sizes=made.scored_steps, layout=layout)


class Sequences(Dataset[SequenceBatch]):
    """The sequences of one split; indexed by `Part`, it makes whole batches."""

    def __init__(
        self, kind: BitSequences, names: np.ndarray, apart: np.ndarray, *, key: tuple[int, int]
    ) -> None:
        """Makes nothing yet.

        Args:
            kind: of the sequences.
            names: `(N,)` of the sequences.
            apart: `(A,)`, the sizes of the last A of them; the others have the sizes of training.
            key: begins the keys of the random numbers.
        """
        self._kind, self._names, self._apart, self._key = kind, names, apart, key
        self._first_apart = len(names) - len(apart)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, chosen: Part) -> SequenceBatch:
        made = [self._item(chosen.epoch, row) for row in chosen.rows.tolist()]
        steps = max(len(item.inputs) for _, item in made)
        inputs, targets, scored = (
            torch.zeros(len(made), steps, *shape, dtype=dtype)
            for shape, dtype in (
                ((self._kind.channels,), torch.float32),
                ((self._kind.outputs,), torch.float32),
                ((), torch.bool),
            )
        )
        for row, (_, item) in enumerate(made):
            for whole, part in zip((inputs, targets, scored), item, strict=True):
                whole[row, : len(part)] = torch.from_numpy(part)
        return SequenceBatch(
            index=torch.from_numpy(chosen.rows),
            inputs=inputs,
            targets=targets,
            scored=scored,
            size=torch.tensor([size for size, _ in made]),
            apart=torch.from_numpy(chosen.rows >= self._first_apart),
            names=self._names[chosen.rows].tolist(),
            loss_weight=chosen.loss_weight,
        )

    def _item(self, epoch: int, row: int) -> tuple[int, BitSequence]:
        """The size of a sequence, and the sequence."""
        key = keys(*self._key, epoch, row, np.arange(2))
        random = np.random.Generator(np.random.Philox(key=key))
        if row >= self._first_apart:
            size = int(self._apart[row - self._first_apart])
        else:
            size = int(random.integers(self._kind.shortest, self._kind.longest + 1))
        return size, self._kind.item(size, random)

    def scored_steps(self, epoch: int, rows: np.ndarray) -> np.ndarray:
        """How many steps of each sequence count, `(B,)`."""
        return np.array([self._item(epoch, row)[1].scored.sum() for row in rows.tolist()])

    def best_bits(self) -> float | None:
        """The bits per sequence of the best predictor, over the sizes of training; None where it has none."""
        found = []
        for row in range(self._first_apart):
            _, item = self._item(0, row)
            guess = self._kind.best_guess(item)
            if guess is None:
                return None
            chance = np.where(item.targets == 1, guess, 1 - guess)[item.scored]
            found.append(-np.log2(chance, dtype=np.float64).sum())
        return float(np.mean(found))

    def content_hash(self) -> str:
        """sha256 over all sequences of epoch 0, in order."""
        digest = hashlib.sha256()
        for row in range(len(self)):
            _, item = self._item(0, row)
            for part in item:
                digest.update(repr(part.shape).encode())
                digest.update(part.astype("<f4").tobytes())
        return digest.hexdigest()
