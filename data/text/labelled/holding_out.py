"""Splits that texts lack, held out of train: the text alone decides, with equal shares of each label."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from data.core.splitting import position
from data.text.labelled.folds import Example

_log = logging.getLogger(__name__)

_SPLITS = ("val", "test")


def require_share(held_out: float) -> None:
    """Refuses a share that leaves nothing to train on, or nothing to test on.

    Raises:
        ValueError: says what is allowed.
    """
    if not 0 < held_out < 0.5:
        raise ValueError(f"held_out must be above 0 and below 0.5, got {held_out}")


def with_held_out(
    name: str, given: Collection[str], read: Callable[[str], Iterator[Example]], held_out: float
) -> dict[str, Iterator[Example]]:
    """All three splits. Texts of one label that differ in case, punctuation and blanks alone stay together.

    Args:
        name: of the data, for messages.
        given: splits that there are, `train` among them.
        read: gives the texts of one, each time anew.
        held_out: share of the texts of each label, for each split that is missing.

    Raises:
        ValueError: a label has too few texts to hold any out.
    """
    splits = {split: read(split) for split in given if split != "train"}
    missing = [split for split in _SPLITS if split not in given]
    if not missing:
        return splits | {"train": read("train")}
    places, labels = [], []
    for text, label in read("train"):
        places.append(position(text if isinstance(text, str) else " ".join(text)))
        labels.append(label)
    ranks = _ranks(name, np.array(places), np.array(labels), held_out, missing)
    for number, split in enumerate(missing):
        chosen = ranks == number
        splits[split] = compress(read("train"), chosen)
        _log.info("%s: %d of %d texts held out of train for %s", name, chosen.sum(), len(ranks), split)
    return splits | {"train": compress(read("train"), ranks < 0)}


def _ranks(
    name: str, places: NDArray[np.float64], labels: NDArray[np.str_], share: float, missing: list[str]
) -> NDArray[np.int64]:
    """`(N,)`, the number of the missing split that each text is held out for; -1 for those to train on."""
    ranks = np.full(len(places), -1)
    for label in np.unique(labels):
        own = labels == label
        distinct, numbers = np.unique(places[own], return_inverse=True)
        size = max(1, round(share * len(distinct)))
        if len(distinct) <= size * len(missing):
            raise ValueError(
                f"{name} has {len(distinct)} different texts of {str(label)!r}, too few to hold some out for"
                f" {' and '.join(missing)}: give these splits, or more texts"
            )
        ranks[own] = np.where(numbers < size * len(missing), numbers // size, -1)
    return ranks
