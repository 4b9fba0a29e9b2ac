"""Splits that no data set has: folds to test on in turn, and what is held out of train, by label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from data.text.corpus import Corpus

SPLIT_SEED = 1582
"""Of every split that is drawn here: it belongs to the data, so training seeds leave splits alone."""

FOLDS = 10

HELD_OUT = 0.1
"""The share of training texts that are validated on, where a data set has none for that."""

Example: TypeAlias = tuple[str | list[str], str]
"""A text, or the sentences of a document, and its label."""


def ten_folds(labels: Sequence[str]) -> NDArray[np.int64]:
    """`(N,)`, the fold of each text: drawn with `SPLIT_SEED`, with equal shares of each label."""
    from sklearn.model_selection import StratifiedKFold  # here, because it takes long to import

    folds = np.empty(len(labels), np.int64)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SPLIT_SEED)
    for fold, (_, chosen) in enumerate(splitter.split(np.zeros(len(labels)), labels)):
        folds[chosen] = fold
    return folds


def held_out(labels: Sequence[str]) -> NDArray[np.bool_]:
    """`(N,)`, which training texts to validate on: drawn with `SPLIT_SEED`, the same share of each label."""
    from sklearn.model_selection import train_test_split

    chosen = np.zeros(len(labels), bool)
    _, numbers = train_test_split(
        np.arange(len(labels)), test_size=HELD_OUT, stratify=labels, random_state=SPLIT_SEED
    )
    chosen[numbers] = True
    return chosen


def without_validation(train: Sequence[Example]) -> dict[str, list[Example]]:
    """The splits `train` and `val` of training texts; see `held_out`."""
    chosen = held_out([label for _, label in train])
    return {
        "train": [one for one, out in zip(train, chosen, strict=True) if not out],
        "val": [one for one, out in zip(train, chosen, strict=True) if out],
    }


class FoldedCorpus(Corpus):
    """Texts without a split, tested on in ten parts: one is `test`, `val` is a tenth of the others.

    Attributes:
        fold: the part that is `test`, see `choose`.
    """

    fold: int

    def choose(self, fold: int | None) -> None:
        """Says which part is tested on.

        Raises:
            ValueError: there is no such part.
        """
        if fold is None or not 0 <= fold < FOLDS:
            raise ValueError(
                f"fold must be 0 to {FOLDS - 1}, got {fold}: {self.name} is tested on in {FOLDS} parts"
                f" (-m data.fold={','.join(map(str, range(FOLDS)))})"
            )
        self.fold = fold

    def load(self) -> Mapping[str, list[Example]]:
        """See `Corpus`."""
        examples = self.examples()
        folds = self.folds(examples)
        test = [one for one, fold in zip(examples, folds, strict=True) if fold == self.fold]
        rest = [one for one, fold in zip(examples, folds, strict=True) if fold != self.fold]
        return without_validation(rest) | {"test": test}

    @abstractmethod
    def examples(self) -> list[Example]:
        """All texts with their labels.

        Raises:
            FileNotFoundError, ValueError: see `Corpus`.
        """

    def folds(self, examples: list[Example]) -> Sequence[int] | NDArray[np.int64]:
        """The fold of each text."""
        return ten_folds([label for _, label in examples])
