"""Items of one split that lie in another one as well."""

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BEFORE: dict[str, tuple[str, ...]] = {"train": (), "val": ("train",)}
"""The splits whose items a split must not contain; of test splits: train and val."""

_log = logging.getLogger(__name__)

Hashes = NDArray[np.int64]
"""`(N,)`, what tells items apart: eight bytes for each, so that millions of items can be compared."""


class Found(NamedTuple):
    """Items of a split that lie in another one, too.

    Attributes:
        number: how many.
        first: the row of the first; -1 without any.
    """

    number: int
    first: int


Copies = dict[str, dict[str, Found]]
"""By split to evaluate on, and by the split that its items lie in as well."""


def hashes(items: Iterable[Hashable]) -> Hashes:
    """Numbers that are equal where items are; comparable within one process."""
    return np.fromiter(map(hash, items), np.int64)


def copies(splits: Mapping[str, Hashes]) -> Copies:
    """Finds what is evaluated on in train, and what is tested on in val."""
    found: Copies = {}
    for split, items in splits.items():
        for other in _BEFORE.get(split, ("train", "val")):
            copied = np.flatnonzero(np.isin(items, splits[other]))
            first = int(copied[0]) if len(copied) else -1
            found.setdefault(split, {})[other] = Found(len(copied), first)
    return found


def counts(found: Copies, split: str) -> dict[str, int]:
    """What reports say of a split: how many of its items are `in_train`, and `in_val`."""
    return {f"in_{other}": copied.number for other, copied in found.get(split, {}).items()}


def say_copies(what: str, found: Copies, example: Callable[[str, int], str]) -> None:
    """Warns of copies, in a line for each split that has some.

    Args:
        what: the data's name and what items are, e.g. `multi30k pairs`.
        found: what `copies` found.
        example: what to call an item, by its split and number.
    """
    for split, others in found.items():
        if there := {other: copied for other, copied in others.items() if copied.number}:
            _log.warning(
                "%s of split %s have copies, %s; for example %s: what was learned by heart, or chosen by,"
                " looks like what was understood",
                *(what, split),
                " and ".join(f"{copied.number} in {other}" for other, copied in there.items()),
                example(split, next(iter(there.values())).first),
            )
