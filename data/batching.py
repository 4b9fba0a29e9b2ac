"""Batches in an order that training can take up again: of pairs of like length, or of any items."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, Sampler

Rows = NDArray[np.int64]

Batch = TypeVar("Batch")
Chosen = TypeVar("Chosen")
"""What says of which items a batch is made."""


class Batches(Sampler[Chosen]):
    """Batches in an order of each epoch's own, shared by processes; the number of batches is always the same.

    Attributes:
        epoch: which order `iter` gives.
    """

    def __init__(self, bounds: list[int], *, seed: int | None, replicas: int = 1, rank: int = 0) -> None:
        """Shares out the batches.

        Args:
            bounds: where batches begin in the order of an epoch, and the end of the last.
            seed: of the order; None for evaluation: always the same order.
            replicas: number of processes that share the batches. In training each gets equally many.
            rank: which of them this is.

        Raises:
            ValueError: there are fewer items than replicas.
        """
        self.epoch = 0
        self._place = (0, 0)
        self._seed, self._replicas, self._rank = seed, replicas, rank
        if seed is not None or len(bounds) - 1 < replicas:  # no process may be left without a batch
            bounds = _divisible(bounds, replicas)
        self._bounds = bounds

    def __len__(self) -> int:
        """Batches in every epoch, for this rank, wherever it begins."""
        return len(range(self._rank, len(self._bounds) - 1, self._replicas))

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer before every epoch."""
        self.epoch = epoch

    def seek(self, epoch: int, batches: int) -> None:
        """Makes that epoch begin behind its first `batches` batches; the others stay whole."""
        self._place = (epoch, batches)

    def __iter__(self) -> Iterator[Chosen]:
        """Yields what says of which items each batch is made, in the order of `epoch`."""
        epoch, batches = self._place
        start = batches if self.epoch == epoch else 0
        return iter(self._batches()[self._rank :: self._replicas][start:])

    @abstractmethod
    def _batches(self) -> list[Chosen]:
        """All batches of `epoch`, of every rank."""


class TokenBatches(Batches[Rows]):
    """Cuts pairs, sorted by length, into batches of at most `batch_tokens` padded tokens on either side.

    The order is a function of seed and epoch alone. Pairs of equal length change places from epoch to epoch,
    and so do the batches; the lengths at each place stay, hence the number of batches stays too.
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
            ValueError: there are fewer pairs than replicas.
        """
        # By the longer side, which is what fills a batch, then by the target, whose padding costs more.
        self._keys = (lengths[:, 1], lengths.max(axis=1))
        order = np.lexsort(self._keys)
        bounds = _bounds(self._keys[1][order], batch_tokens)
        super().__init__(bounds, seed=seed, replicas=replicas, rank=rank)
        self.real_token_share = _real_token_share(lengths[order], self._bounds)
        """Tokens that are no padding, of both sides together, in [0, 1]; hardly depends on the epoch."""

    def _batches(self) -> list[Rows]:
        if self._seed is None:
            return np.split(np.lexsort(self._keys), self._bounds[1:-1])[::-1]
        generator = np.random.default_rng((self._seed, self.epoch))
        shuffled = generator.permutation(len(self._keys[0]))
        order = shuffled[np.lexsort(tuple(key[shuffled] for key in self._keys))]
        batches = np.split(order, self._bounds[1:-1])
        return [batches[i] for i in generator.permutation(len(batches))]


class EpochRows(NamedTuple):
    """Which items a batch is made of, where an item is another in every epoch.

    Attributes:
        epoch: of the training that they are made for; 0 for evaluation.
        rows: `(B,)` their numbers in the split.
    """

    epoch: int
    rows: Rows


class ShuffledBatches(Batches[EpochRows]):
    """Cuts a permutation, a function of seed and epoch, into batches; for evaluation the order as it is."""

    def __init__(
        self,
        count: int,
        batch_size: int,
        *,
        seed: int | None,
        together: Rows | None = None,
        replicas: int = 1,
        rank: int = 0,
    ) -> None:
        """Plans the batches.

        Args:
            count: of the items.
            batch_size: in each batch; the last may be smaller, and others where processes share them.
            seed: see `Batches`, as for the rest.
            together: `(count,)`, a number for each item: those of one number stay neighbours in the order,
                if need be across the end of a batch. None: each for itself.
            replicas: processes.
            rank: which of them.
        """
        self._count, self._together = count, together
        bounds = [*range(0, count, batch_size), count]
        super().__init__(bounds, seed=seed, replicas=replicas, rank=rank)

    def _batches(self) -> list[EpochRows]:
        if self._seed is None:
            epoch, order = 0, np.arange(self._count)
        else:
            epoch = self.epoch
            generator = np.random.default_rng((self._seed, epoch))
            if self._together is None:
                order = generator.permutation(self._count)
            else:
                places = generator.permutation(self._together.max() + 1)
                order = np.argsort(places[self._together], kind="stable")
        return [EpochRows(epoch, rows) for rows in np.split(order, self._bounds[1:-1])]


def _bounds(sizes: NDArray[np.int64], batch_tokens: int) -> list[int]:
    """Where batches begin, and the end of the last: greedily as many of the rising sizes as fit."""
    bounds = [0]
    for position, size in enumerate(sizes.tolist()):
        if position > bounds[-1] and size * (position - bounds[-1] + 1) > batch_tokens:
            bounds.append(position)
    return [*bounds, len(sizes)]


def _divisible(bounds: list[int], replicas: int) -> list[int]:
    """Halves the batches with most items until every replica gets equally many."""
    bounds = list(bounds)
    if bounds[-1] < replicas:
        raise ValueError(f"{bounds[-1]} items cannot be shared by {replicas} processes")
    while (len(bounds) - 1) % replicas:
        largest = int(np.argmax(np.diff(bounds)))
        bounds.insert(largest + 1, (bounds[largest] + bounds[largest + 1]) // 2)
    return bounds


def _real_token_share(lengths: NDArray[np.int64], bounds: list[int]) -> float:
    padded = np.maximum.reduceat(lengths, bounds[:-1]) * np.diff(bounds)[:, None]
    return float(lengths.sum() / padded.sum())


class BatchLoader(DataLoader[Batch]):
    """Loads whole batches, in this process or in workers, and knows when a worker is stuck."""

    def __init__(
        self,
        items: Dataset[Batch],
        batches: Batches[Any],
        *,
        workers: int = 0,
        worker_timeout: float = 300.0,
    ) -> None:
        """Loads from `items`, which makes a whole batch at once, in the order of `batches`.

        Args:
            items: makes a batch of what `batches` chooses.
            batches: which items, in which order.
            workers: processes that load; 0 loads in this one.
            worker_timeout: seconds to wait for a batch from a worker; 0 waits for ever.
        """
        # A generator of its own: without one, every pass would draw from the global random numbers.
        super().__init__(
            items,
            sampler=batches,
            batch_size=None,
            collate_fn=_unchanged,
            num_workers=workers,
            timeout=worker_timeout if workers else 0,
            generator=torch.Generator().manual_seed(0),
        )
        self.batches = batches

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        """Yields the batches of one epoch.

        Raises:
            TimeoutError: a worker gave no batch in time.
        """
        try:
            # Only now, at the first batch, is the epoch's order asked for: the trainer says the epoch late.
            yield from super().__iter__()
        except RuntimeError as error:
            if "timed out" not in str(error):
                raise
            raise TimeoutError(
                f"no batch came from the {self.num_workers} data workers for {self.timeout:g} s: one is"
                " stuck; see what holds it up (a slow or lost disk?), load with data.num_workers=0, or wait"
                " longer with data.worker_timeout"
            ) from error

    def state_dict(self) -> dict[str, int]:
        """Nothing: where training is, is said by what was trained on, not by what was fetched.

        The data module keeps it. Lightning takes a loader without this method for one that cannot be resumed.
        """
        return {}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Nothing, see `state_dict`."""


def _unchanged(batch: Any) -> Any:
    return batch
