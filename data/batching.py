"""Batches by number of tokens, from pairs of like length, in an order that training can take up again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, Sampler

from zoo.batch import TranslationBatch

Rows = NDArray[np.int64]


class TokenBatches(Sampler[Rows]):
    """Cuts pairs, sorted by length, into batches of at most `batch_tokens` padded tokens on either side.

    The order is a function of seed and epoch alone. Pairs of equal length change places from epoch to epoch,
    and so do the batches; the lengths at each place stay, hence the number of batches stays too.

    Attributes:
        epoch: which order `iter` gives.
        start: how many batches of it `iter` leaves out.
    """

    def __init__(
        self,
        lengths: NDArray[np.int64],
        batch_tokens: int,
        *,
        seed: int | None,
        replicas: int = 1,
        rank: int = 0,
    ) -> None:
        """Plans the batches.

        Args:
            lengths: `(N, 2)` tokens of source and target, EOS included.
            batch_tokens: bound on batch size x longest side. A single pair beyond it is a batch of its own.
            seed: of the order; None for evaluation: always the same order, longest first.
            replicas: number of processes that share the batches. In training each gets equally many.
            rank: which of them this is.

        Raises:
            ValueError: there are fewer pairs than replicas to train.
        """
        self.epoch = self.start = 0
        self._seed, self._replicas, self._rank = seed, replicas, rank
        # By the longer side, which is what fills a batch, then by the target, whose padding costs more.
        self._keys = (lengths[:, 1], lengths.max(axis=1))
        order = np.lexsort(self._keys)
        self._bounds = _bounds(self._keys[1][order], batch_tokens)
        if seed is not None:
            self._bounds = _divisible(self._bounds, replicas)
        self.real_token_share = _real_token_share(lengths[order], self._bounds)
        """Tokens that are no padding, of both sides together, in [0, 1]; hardly depends on the epoch."""

    def __len__(self) -> int:
        """Batches in every epoch, for this rank, wherever `start` is."""
        return len(range(self._rank, len(self._bounds) - 1, self._replicas))

    def __iter__(self) -> Iterator[Rows]:
        """Yields each batch's rows, from batch `start` of epoch `epoch` on."""
        return iter(self._batches()[self._rank :: self._replicas][self.start :])

    def _batches(self) -> list[Rows]:
        if self._seed is None:
            return np.split(np.lexsort(self._keys), self._bounds[1:-1])[::-1]
        generator = np.random.default_rng((self._seed, self.epoch))
        shuffled = generator.permutation(len(self._keys[0]))
        order = shuffled[np.lexsort(tuple(key[shuffled] for key in self._keys))]
        batches = np.split(order, self._bounds[1:-1])
        return [batches[i] for i in generator.permutation(len(batches))]


def _bounds(sizes: NDArray[np.int64], batch_tokens: int) -> list[int]:
    """Where batches begin, and the end of the last: greedily as many of the rising sizes as fit."""
    bounds = [0]
    for position, size in enumerate(sizes.tolist()):
        if position > bounds[-1] and size * (position - bounds[-1] + 1) > batch_tokens:
            bounds.append(position)
    return [*bounds, len(sizes)]


def _divisible(bounds: list[int], replicas: int) -> list[int]:
    """Halves the batches with most pairs until every replica gets equally many."""
    bounds = list(bounds)
    if bounds[-1] < replicas:
        raise ValueError(f"{bounds[-1]} pairs cannot be shared by {replicas} processes")
    while (len(bounds) - 1) % replicas:
        largest = int(np.argmax(np.diff(bounds)))
        bounds.insert(largest + 1, (bounds[largest] + bounds[largest + 1]) // 2)
    return bounds


def _real_token_share(lengths: NDArray[np.int64], bounds: list[int]) -> float:
    padded = np.maximum.reduceat(lengths, bounds[:-1]) * np.diff(bounds)[:, None]
    return float(lengths.sum() / padded.sum())


class TokenBatchLoader(DataLoader[TranslationBatch]):
    """Loads token batches; a trainer's checkpoint keeps its position, two integers.

    What counts is what the trainer took, not what workers fetched ahead. Each pass is one epoch on.
    """

    def __init__(self, pairs: Dataset[TranslationBatch], batches: TokenBatches, *, workers: int = 0) -> None:
        """Loads from `pairs`, which makes a whole batch from its rows, in the order of `batches`."""
        # A generator of its own: without one, every pass would draw from the global random numbers.
        super().__init__(
            pairs,
            sampler=batches,
            batch_size=None,
            collate_fn=_unchanged,
            num_workers=workers,
            generator=torch.Generator().manual_seed(0),
        )
        self.batches = batches
        self._upcoming = (0, 0)
        self._position = (0, 0)

    def __iter__(self) -> Iterator[TranslationBatch]:  # type: ignore[override]
        """Yields the batches of the next epoch, or those left of the one that was interrupted."""
        epoch, taken = self._upcoming
        self._upcoming = (epoch + 1, 0)
        self.batches.epoch, self.batches.start = epoch, taken
        for batch in super().__iter__():
            taken += 1
            self._position = (epoch, taken)
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """The position, for the trainer's checkpoint."""
        epoch, taken = self._position
        return {"epoch": epoch, "taken": taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on behind the last batch that was taken."""
        epoch, taken = int(state["epoch"]), int(state["taken"])
        self._position = (epoch, taken)
        self._upcoming = (epoch, taken) if taken < len(self) else (epoch + 1, 0)


def _unchanged(batch: Any) -> Any:
    return batch
