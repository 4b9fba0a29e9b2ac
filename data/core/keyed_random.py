"""Random numbers that are functions of a key: the same for any batch, order, worker, rank or resume.

SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"), for many keys at once.
Unlike a library's generator it has a state of 64 bits for each image, and never changes with a version.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

EVALUATION_SEED = 1582
"""The seed of validation and test items, the same in every run."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def keys(*numbers: int | NDArray[np.integer]) -> Keys:
    """One key for each combination of numbers, which are broadcast against each other.

    Args:
        numbers: not negative; what the key depends on, in this order.

    Returns:
        `(B,)`, or `(1,)` where every number is a plain one.
    """
    mixed = np.zeros(1, dtype=np.uint64)
    for number in numbers:
        mixed = _mixed(mixed + _GOLDEN + np.asarray(number, dtype=np.uint64))
    return mixed


def split_key(split: str, seed: int) -> tuple[int, int]:
    """What the keys of a split's items begin with; `seed` decides about training items alone."""
    return seed if split == "train" else EVALUATION_SEED, zlib.crc32(split.encode())


class Draws:
    """A stream of random numbers for each key.

    Args:
        keys: `(B,)`; they begin the streams, and are left as they are.
    """

    def __init__(self, keys: Keys) -> None:
        self._state = keys

    def below(self, bound: int) -> NDArray[np.int64]:
        """The next number of each stream, `(B,)`: from 0 to less than `bound`, which is at most 2**32."""
        return self.within(np.asarray(bound))

    def within(self, bounds: NDArray[np.integer]) -> NDArray[np.int64]:
        """The same with a bound for each stream, `(B,)`."""
        self._state = self._state + _GOLDEN
        # The upper half as a fraction of 2**32: how likely numbers are differs by bounds / 2**32 at most.
        return ((_mixed(self._state) >> _HALF) * bounds.astype(np.uint64) >> _HALF).astype(np.int64)


def distinct(draws: Draws, bound: int, count: int) -> NDArray[np.int64]:
    """Different numbers from each stream, `(B, count)`, in random order: each from 0 to less than `bound`."""
    drawn = draws.below(bound)[:, None]
    for number in range(1, count):
        new = draws.below(bound - number)
        for smaller in np.sort(drawn, axis=1).T:  # counts on past what is taken
            new += new >= smaller
        drawn = np.column_stack([drawn, new])
    return drawn


def _mixed(state: Keys) -> Keys:
    """Arithmetic is modulo 2**64, which for arrays numpy does without a warning."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
