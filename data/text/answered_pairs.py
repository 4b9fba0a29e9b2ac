"""Pairs of texts with an answer each: what any set of them has in common."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from data.core.splitting import position
from data.text.columns import Column, Degree, Group, Label, Text
from data.text.corpus import Corpus
from data.text.labelled.holding_out import require_share
from data.text.tables import as_label, no_class_of_train
from zoo.core.text import check_language

_log = logging.getLogger(__name__)

Row = tuple[Any, ...]
"""Left and right text, the answer, and of pairs in groups the group's number."""

Found = tuple[str, Row]
"""Where a row stands, for messages, and its values: left and right text, answer and perhaps the group."""


@dataclass(kw_only=True)
class AnsweredPairs(Corpus):
    """Pairs of texts with a label or with a number; in groups, pairs are ranked.

    Splits that are not there are held out of `train` by left text (or by group, where there are some): a hash
    of it decides, so none is in two splits, and the order of rows does not matter.

    Attributes:
        left: name of the column of one text.
        right: name of that of the other.
        answer: name of the column of labels or of numbers.
        labels: all labels; of two the last is the positive one. None: those of train, sorted.
        degrees: the lowest and the highest number, where answers are numbers; None: they are labels.
        group: name of the column that says which pairs are ranked against each other, such as `left` itself;
            None: none are.
        held_out: about which share to hold out for each such split; above 0 and below 0.5.
        language: ISO 639 code; may be empty.
    """

    left: str = "left"
    right: str = "right"
    answer: str = "label"
    labels: list[str] | None = None
    degrees: list[float] | None = None
    group: str | None = None
    held_out: float = 0.1
    language: str = ""

    def __post_init__(self) -> None:
        require_share(self.held_out)
        if self.language:
            check_language(self.language)
        if self.labels is not None and self.degrees is not None:
            raise ValueError("labels must be null where degrees are given: answers are one or the other")
        if self.labels is not None and len(self.labels) != max(len(set(self.labels)), 2):
            raise ValueError(f"labels must be two or more, each named once, or null, got {self.labels}")
        if self.degrees is not None and (len(self.degrees) != 2 or not _is_range(*self.degrees)):
            raise ValueError(f"degrees must be the lowest and the highest number, got {self.degrees}")
        if self.degrees is not None and self.group is not None:
            raise ValueError("group must be null where degrees are given: a number says no pair right")
        if len(set(self._names[:3])) < 3 or self.group in (self.right, self.answer):
            raise ValueError(
                "left, right, answer and group must name different columns, but that group may be left;"
                f" got {', '.join(self._names)}"
            )

    @property
    def _names(self) -> list[str]:
        return [self.left, self.right, self.answer, *([] if self.group is None else [self.group])]

    @property
    def _answers(self) -> Label | Degree:
        if self.degrees is None:
            return Label(tuple(self.labels or ()))
        return Degree(*map(float, self.degrees))

    @property
    def columns(self) -> dict[str, Column]:
        """Two texts, what they are to each other, and perhaps the group."""
        answer = {"label" if self.degrees is None else "degree": self._answers}
        grouped = {} if self.group is None else {"group": Group()}
        return {"left": Text(self.language), "right": Text(self.language), **answer, **grouped}

    @abstractmethod
    def given(self) -> Collection[str]:
        """Which splits there are; `train` is one."""

    @abstractmethod
    def rows(self, split: str) -> Iterator[Found]:
        """The rows of a split, without blank ones, each time anew; their texts are texts."""

    def load(self) -> Mapping[str, Iterator[Row]]:
        """Reads the rows as they are needed.

        Raises:
            ValueError: a row cannot be used; says where it stands. Or the pairs are too few to hold any out.
        """
        known = None
        if self.labels is None and self.degrees is None:
            known = {answer for _, (_, _, answer, *_) in self._keyed("train")}
        splits = {split: self._read(split, known) for split in self.given()}
        missing = [split for split in ("val", "test") if split not in splits]
        if not missing:
            return splits
        places = np.array([position(key) for key, _ in self._keyed("train")])
        train = np.ones(len(places), bool)
        for number, split in enumerate(missing):
            chosen = (number * self.held_out <= places) & (places < (number + 1) * self.held_out)
            if not chosen.any():
                raise ValueError(
                    f"{self.name} has too few different {self.group or self.left} to hold some out"
                    f" for {split}: give data.corpus.{split}, or more pairs"
                )
            train &= ~chosen
            splits[split] = compress(self._read("train"), chosen)
            _log.info(
                "%s: %d of %d pairs held out of train for %s", self.name, chosen.sum(), len(places), split
            )
        return splits | {"train": compress(self._read("train"), train)}

    def _read(self, split: str, known: Collection[str] | None = None) -> Iterator[Row]:
        return (row for _, row in self._keyed(split, known))

    def _keyed(self, split: str, known: Collection[str] | None = None) -> Iterator[tuple[str, Row]]:
        """The rows of a split, after what decides where each is held out; groups have numbers.

        Args:
            split: which one.
            known: the labels of train; None: those of other splits are not looked at.
        """
        numbers = dict[str, int]()
        for where, (left, right, answer, *group) in self.rows(split):
            value = self._answer(where, answer)
            if known is not None and value not in known:
                raise ValueError(f"{where}: {no_class_of_train(self.answer, str(value), known)}")
            if self.group is None:
                yield left, (left, right, value)
            else:
                name = as_label(where, self.group, group[0])
                yield name, (left, right, value, numbers.setdefault(name, len(numbers)))

    def _answer(self, where: str, value: Any) -> str | float:
        """A label or a degree, one of those that there may be."""
        found: str | float
        if self.degrees is None:
            found = as_label(where, self.answer, value)
        else:
            try:
                found = float(value)
            except (TypeError, ValueError):
                raise ValueError(f"{where}: {self.answer!r} must be a number, got {value!r}") from None
        if problem := self._answers.problem(found):
            raise ValueError(f"{where}: {self.answer!r} {problem}")
        return found


def _is_range(lowest: float, highest: float) -> bool:
    """Whether numbers have a place between these two."""
    return -math.inf < lowest < highest < math.inf
