"""Batches in an order that training can take up again: of texts of like length, or of any items."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, Sampler

Rows = NDArray[np.int64]
Sizes = Callable[[int, Rows], Rows]
"""Of an epoch and the numbers `(B,)` of items: what each counts for in a mean over a batch."""

Batch = TypeVar("Batch")


class Layout(NamedTuple):
    """How a batch is cut into parts, each small enough for one device.

    Attributes:
        processes: that share a batch.
        rank: which of them this is.
        accumulated: parts that a process computes one after another, adding up their gradients.
    """

    processes: int = 1
    rank: int = 0
    accumulated: int = 1

    @property
    def parts(self) -> int:
        """Of every batch to train on, over all processes."""
        return self.processes * self.accumulated


class Part(NamedTuple):
    """What is computed at once: a part of a batch, or all of it.

    Attributes:
        epoch: of the training that the items are made for; 0 for evaluation.
        rows: `(B,)` their numbers in the split.
        loss_weight: the share of the part in its batch, times the number of parts. It multiplies a mean over
            the part's items (or tokens), so that the mean over all parts is the mean over the batch.
    """

    epoch: int
    rows: Rows
    loss_weight: float = 1.0


class Batches(Sampler[Part]):
    """Batches in an order of each epoch's own, which is the same in every layout; only the parts differ.

    To train on, every batch is cut into equally many parts, so that all processes take their steps together.
    Where it has fewer items than that, parts without one get its first, with a weight of 0. To evaluate,
    batches are cut as small, and no item comes twice.

    Attributes:
        epoch: which order `iter` gives.
    """

    def __init__(
        self, bounds: list[int], *, sizes: Sizes | None = None, seed: int | None, layout: Layout | None = None
    ) -> None:
        """Shares out the batches.

        Args:
            bounds: where batches begin in the order of an epoch, and the end of the last.
            sizes: of the items, for the shares of parts; None: all the same.
            seed: of the order; None for evaluation: always the same order.
            layout: how batches are cut; None: not at all.

        Raises:
            ValueError: there are fewer items than processes.
        """
        self.epoch = 0
        self._place = (0, 0)
        self._seed, self._layout, self._sizes = seed, layout or Layout(), sizes or _equal
        if bounds[-1] < self._layout.processes:
            raise ValueError(f"{bounds[-1]} items cannot be shared by {self._layout.processes} processes")
        self._bounds = bounds

    def __len__(self) -> int:
        """Parts in every epoch, for this process, wherever it begins."""
        if self._seed is not None:
            return (len(self._bounds) - 1) * self._layout.accumulated
        parts = int(np.minimum(np.diff(self._bounds), self._layout.parts).sum())
        return len(range(self._layout.rank, parts, self._layout.processes))

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer before every epoch."""
        self.epoch = epoch

    def seek(self, epoch: int, batches: int) -> None:
        """Makes that epoch begin behind its first `batches` whole batches; the others stay whole."""
        self._place = (epoch, batches)

    def __iter__(self) -> Iterator[Part]:
        """Yields what says of which items each part is made, in the order of `epoch`."""
        epoch, done = self._place
        start = done if self.epoch == epoch else 0
        parts = (part for batch in self._batches()[start:] for part in self._cut(batch))
        return islice(parts, self._layout.rank, None, self._layout.processes)

    def _cut(self, batch: Rows) -> Iterator[Part]:
        """All parts of a batch. Neighbours stay together: they are alike."""
        parts = np.array_split(batch, self._layout.parts)
        if self._seed is None:
            yield from (Part(0, rows) for rows in parts if len(rows))
        elif len(parts) == 1:
            yield Part(self.epoch, batch)
        else:
            sizes = self._sizes(self.epoch, batch)
            for rows, part in zip(parts, np.array_split(sizes, len(parts)), strict=True):
                share = float(len(parts) * part.sum() / sizes.sum())
                yield Part(self.epoch, rows if len(rows) else batch[:1], share)

    @abstractmethod
    def _batches(self) -> list[Rows]:
        """All batches of `epoch`, whole."""


class TokenBatches(Batches):
    """Cuts items, sorted by length, into batches of at most `batch_tokens` padded tokens of each text.

    The order is a function of seed and epoch alone. Items of equal length change places from epoch to epoch,
    and so do the batches; the lengths at each place stay, hence the number of batches stays too.
    """

    def __init__(
        self,
        lengths: NDArray[np.int64],
        batch_tokens: int,
        *,
        seed: int | None,
        sizes: Rows | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Plans the batches.

        Args:
            lengths: `(N, C)` tokens of each of an item's texts, e.g. of source and target.
            batch_tokens: bound on batch size x longest text. A single item beyond it is a batch of its own.
            seed: of the order; None for evaluation: always the same order, longest first.
            sizes: `(N,)`, what each item counts for in a mean over a batch; None: its last text's tokens.
            layout: see `Batches`.

        Raises:
            ValueError: see `Batches`.
        """
        # By the longest text, which fills a batch, then by the last: the target, whose padding costs more.
        self._keys = (lengths[:, -1], lengths.max(axis=1))
        counted = lengths[:, -1] if sizes is None else sizes
        order = np.lexsort(self._keys)
        bounds = _bounds(self._keys[1][order], batch_tokens)
        super().__init__(bounds, sizes=lambda _, rows: counted[rows], seed=seed, layout=layout)
        self.real_token_share = _real_token_share(lengths[order], self._bounds)
        """Tokens that are no padding, of all texts together, in [0, 1]; hardly depends on the epoch."""

    def _batches(self) -> list[Rows]:
        if self._seed is None:
            return np.split(np.lexsort(self._keys), self._bounds[1:-1])[::-1]
        generator = np.random.default_rng((self._seed, self.epoch))
        shuffled = generator.permutation(len(self._keys[0]))
        order = shuffled[np.lexsort(tuple(key[shuffled] for key in self._keys))]
        batches = np.split(order, self._bounds[1:-1])
        return [batches[i] for i in generator.permutation(len(batches))]


class ShuffledBatches(Batches):
    """Cuts a permutation, a function of seed and epoch, into batches; for evaluation the order as it is."""

    def __init__(
        self,
        count: int,
        batch_size: int,
        *,
        seed: int | None,
        together: Rows | None = None,
        sizes: Sizes | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Plans the batches.

        Args:
            count: of the items.
            batch_size: in each batch; the last may be smaller.
            seed: see `Batches`, as for the rest.
            together: `(count,)`, a number for each item: those of one number stay neighbours in the order,
                if need be across the end of a batch. None: each for itself.
            sizes: of the items.
            layout: how batches are cut.
        """
        self._count, self._together = count, together
        super().__init__([*range(0, count, batch_size), count], sizes=sizes, seed=seed, layout=layout)

    def _batches(self) -> list[Rows]:
        if self._seed is None:
            order = np.arange(self._count)
        else:
            generator = np.random.default_rng((self._seed, self.epoch))
            if self._together is None:
                order = generator.permutation(self._count)
            else:
                places = generator.permutation(self._together.max() + 1)
                order = np.argsort(places[self._together], kind="stable")
        return np.split(order, self._bounds[1:-1])


def _bounds(sizes: NDArray[np.int64], batch_tokens: int) -> list[int]:
    """Where batches begin, and the end of the last: greedily as many of the rising sizes as fit."""
    bounds = [0]
    for position, size in enumerate(sizes.tolist()):
        if position > bounds[-1] and size * (position - bounds[-1] + 1) > batch_tokens:
            bounds.append(position)
    return [*bounds, len(sizes)]


def _equal(epoch: int, rows: Rows) -> Rows:
    return np.ones_like(rows)


def _real_token_share(lengths: NDArray[np.int64], bounds: list[int]) -> float:
    padded = np.maximum.reduceat(lengths, bounds[:-1]) * np.diff(bounds)[:, None]
    return float(lengths.sum() / padded.sum())


class BatchLoader(DataLoader[Batch]):
    """Loads whole batches, in this process or in workers, and knows when a worker is stuck."""

    def __init__(
        self,
        items: Dataset[Batch],
        batches: Batches,
        *,
        workers: int = 0,
        worker_timeout: float = 300.0,
        pinned: bool = False,
    ) -> None:
        """Loads from `items`, which makes a whole batch at once, in the order of `batches`.

        Args:
            items: makes a batch of what `batches` chooses.
            batches: which items, in which order.
            workers: processes that load; 0 loads in this one.
            worker_timeout: seconds to wait for a batch from a worker; 0 waits for ever.
            pinned: whether batches lie in memory that a GPU copies from while it computes.
        """
        # A generator of its own: without one, every pass would draw from the global random numbers.
        super().__init__(
            items,
            sampler=batches,
            batch_size=None,
            collate_fn=_unchanged,
            num_workers=workers,
            timeout=worker_timeout if workers else 0,
            pin_memory=pinned,
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
        """Nothing: the place of training is what was trained on, not what was fetched.

        The data module keeps it. Lightning takes a loader without this method for one that cannot be resumed.
        """
        return {}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Nothing, see `state_dict`."""


def _unchanged(batch: Any) -> Any:
    return batch
