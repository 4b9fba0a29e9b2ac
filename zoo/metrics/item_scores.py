"""Scores that follow from sums over test items, which the paired bootstrap of `zoo compare` draws anew.

A score is declared once, beside what computes it: `BLEU_ITEMS = ItemScore("bleu", Bleu)`. A task's `Measure`
has the declaration as its `items`, results.json has its name. A package of one's own declares its scores in
the same way: they are known as soon as the module that has them is imported.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

UNIT = 2**32
"""Sums of numbers are kept as whole numbers of 1 / 2^32: exact, so in any order the same, on any device."""


class SummedScore(Protocol):
    """A score of a corpus that follows from sums over its items."""

    @property
    def sentence_statistics(self) -> Callable[..., list[list[int]]]:
        """What each item adds to the sums; the arguments are columns with an entry for each item."""

    def score(self, sums: Sequence[int]) -> float:
        """The score of the sums."""


class MeanOverItems:
    """The mean of a number that each item has, such as whether it was answered correctly.

    Attributes:
        higher_is_better: whether high values are; None where neither side is.

    Args:
        value: an item's number from the item's columns; None of an item that does not count.
        higher_is_better: see above.
    """

    def __init__(
        self, value: Callable[..., float | None] = float, *, higher_is_better: bool | None = True
    ) -> None:
        self._value, self.higher_is_better = value, higher_is_better

    def sentence_statistics(self, *columns: Sequence[Any]) -> list[list[int]]:
        """The number of each item, in units of 2^-32, and how many items it counts for: one or none."""
        values = [self._value(*item) for item in zip(*columns, strict=True)]
        return [[0, 0] if value is None else [round(value * UNIT), 1] for value in values]

    def score(self, sums: Sequence[int]) -> float:
        """The mean of the items that count; NaN of none."""
        return sums[0] / sums[1] / UNIT if sums[1] else math.nan


@dataclass(frozen=True)
class ItemScore:
    """How a score follows from predictions.jsonl, under the name that results.json has for it.

    Attributes:
        name: no other score has it.
        make: makes what computes the score. If it takes a `language`, that is the ISO 639 code of the text.
        columns: the keys of a prediction that `sentence_statistics` takes, in its order.
        together: a key of predictions: those that share its value are one item, such as all answers to one
            question; a column then has the list of their values. Empty where each prediction is an item.

    Raises:
        ValueError: another module declared the name.
    """

    name: str
    make: Callable[..., SummedScore]
    columns: tuple[str, ...] = ("prediction", "references")
    together: str = ""

    def __post_init__(self) -> None:
        """Makes the score known by its name."""
        known = ITEM_SCORES.get(self.name)
        if known and _home(known) != _home(self):
            raise ValueError(f"{_home(self)} declares the score {self.name!r}, and {_home(known)} does, too")
        ITEM_SCORES[self.name] = self

    @property
    def takes_language(self) -> bool:
        """Whether the score depends on the language of the text."""
        return "language" in inspect.signature(self.make).parameters

    def scorer(self, language: str) -> SummedScore:
        """What computes the score.

        Args:
            language: ISO 639 code of the text; empty where it is not known.

        Raises:
            ValueError: the score needs the language.
        """
        if not self.takes_language:
            return self.make()
        parameter = inspect.signature(self.make).parameters["language"]
        if not language and parameter.default is parameter.empty:
            raise ValueError(
                f"{self.name} needs the language of the text, which no results say: give --language de, ..."
            )
        return self.make(language=language)

    def statistics(self, scorer: SummedScore, predictions: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
        """`(N, statistics)`: what each of N items adds to the sums, in the order of their first predictions.

        Args:
            scorer: made by `scorer`.
            predictions: of a split, see `read_split`.

        Raises:
            ValueError: a prediction lacks a column.
        """
        needed = (*self.columns, *([self.together] if self.together else []))
        every = {*needed}
        for one in predictions:
            if not every <= one.keys():
                missing = next(key for key in needed if key not in one)
                raise ValueError(f"id {one.get('id')} lacks {missing!r}, which {self.name} needs")
        if not self.together:
            columns = [list(map(itemgetter(key), predictions)) for key in self.columns]
        else:
            items: dict[str, list[Mapping[str, Any]]] = {}
            for one in predictions:
                items.setdefault(repr(one[self.together]), []).append(one)  # a value may be a list
            columns = [[[one[key] for one in item] for item in items.values()] for key in self.columns]
        return np.array(scorer.sentence_statistics(*columns))


def _home(score: ItemScore) -> str:
    """The module that defines what computes a score."""
    return str(getattr(score.make, "func", score.make).__module__)


ITEM_SCORES: dict[str, ItemScore] = {}
"""Every score that was declared in this process, by its name."""
