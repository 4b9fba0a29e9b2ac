"""Anyone's own pairs of texts with an answer each: a CSV, TSV or JSONL with named columns for each split."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, compress, islice
from pathlib import Path
from typing import Any

import numpy as np

from data.core.paths import did_you_mean
from data.core.splitting import position
from data.text.columns import Column, Degree, Group, Label, Text
from data.text.corpus import Corpus
from data.text.tables import ENDINGS, as_label, as_text, ending, no_class_of_train, read_table
from data.text.text_files import Blank, content_hash
from zoo.core.text import check_language

_log = logging.getLogger(__name__)

_ALLOWED = "a .csv, .tsv or .jsonl file, plain or packed as .gz"

_LOOKED_AT = 1000
"""Rows of each file that are read before a run begins: many mistakes are of a whole file."""

Row = tuple[Any, ...]


@dataclass(kw_only=True)
class OwnPairs(Corpus):
    """Pairs of texts from files, with a label or with a number; in groups, pairs are ranked.

    Splits that are not given are held out of `train` by left text (or by group, where there are some): a hash
    of it decides, so none is in two splits, and the order of the file does not matter.

    Attributes:
        train: the pairs to train on.
        val: those to validate on; None holds some out.
        test: those to test on; None holds some out.
        left: name of the column of one text.
        right: name of that of the other.
        answer: name of the column of labels or of numbers.
        labels: all labels; of two the last is the positive one. None: those of train, sorted.
        degrees: the lowest and the highest number, where answers are numbers; None: they are labels.
        group: name of the column that says which pairs are ranked against each other; None: none are.
        held_out: about which share to hold out for each such split; above 0 and below 0.5.
        language: ISO 639 code; may be empty.
    """

    train: str | None
    val: str | None = None
    test: str | None = None
    left: str = "left"
    right: str = "right"
    answer: str = "label"
    labels: list[str] | None = None
    degrees: list[float] | None = None
    group: str | None = None
    held_out: float = 0.1
    language: str = ""
    name: str = field(default="text_pairs", init=False)

    def __post_init__(self) -> None:
        if self.train is None:
            raise ValueError(f"train must name {_ALLOWED}; for example data.corpus.train=questions.csv")
        if not 0 < self.held_out < 0.5:
            raise ValueError(f"held_out must be above 0 and below 0.5, got {self.held_out}")
        if self.language:
            check_language(self.language)
        if self.labels is not None and self.degrees is not None:
            raise ValueError("labels must be null where degrees are given: answers are one or the other")
        if self.degrees is not None and (len(self.degrees) != 2 or not self.degrees[0] < self.degrees[1]):
            raise ValueError(f"degrees must be the lowest and the highest number, got {self.degrees}")
        if self.degrees is not None and self.group is not None:
            raise ValueError("group must be null where degrees are given: a number says no pair right")
        if len(set(self._names)) < len(self._names):
            raise ValueError(f"left, right, answer and group must name different columns, got {self._names}")
        given = {"train": self.train, "val": self.val, "test": self.test}
        self._paths = {
            split: Path(os.path.expanduser(path)) for split, path in given.items() if path is not None
        }
        for split, path in self._paths.items():
            if os.path.isdir(path):
                raise ValueError(f"{split} must be {_ALLOWED}; {path} is a folder")
            if not os.path.isfile(path):
                raise ValueError(f"{split} needs {path}, which does not exist{did_you_mean(path)}")
            if ending(path) not in ENDINGS:
                raise ValueError(f"{split} must be {_ALLOWED}; got {path}")
        for (_, path), (other, same) in combinations(self._paths.items(), 2):
            if os.path.realpath(path) == os.path.realpath(same):
                raise ValueError(f"{other} must have a file of its own; {path} is another split as well")

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

    def check_files(self) -> None:
        """See `Corpus`; reads the first pairs of each split.

        Raises:
            ValueError: they cannot be used; names file and line.
        """
        for split in self._paths:
            for _ in islice(self._read(split), _LOOKED_AT):
                pass

    def fingerprint(self) -> str:
        """How pairs are read, and what stands in the files."""
        contents = {split: (ending(path), content_hash([path])) for split, path in self._paths.items()}
        return repr((contents, self._names, self.labels, self.degrees, self.held_out))

    def load(self) -> Mapping[str, Iterator[Row]]:
        """Reads the files as they are needed.

        Raises:
            ValueError: a file cannot be used; names file and line. Or the pairs are too few to hold any out.
        """
        known = None
        if self.labels is None and self.degrees is None:
            known = {answer for _, (_, _, answer, *_) in self._keyed("train")}
        splits = {split: self._read(split, known) for split in self._paths}
        missing = [split for split in ("val", "test") if split not in splits]
        if not missing:
            return splits
        places = np.array([position(key) for key, _ in self._keyed("train")])
        train = np.ones(len(places), bool)
        for number, split in enumerate(missing):
            chosen = (number * self.held_out <= places) & (places < (number + 1) * self.held_out)
            if not chosen.any():
                raise ValueError(
                    f"{self._paths['train']} has too few different {self.group or self.left} to hold some out"
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
        path, numbers = self._paths[split], dict[str, int]()
        blank = Blank(f"lacks {', '.join(self._names[:-1])} or {self._names[-1]}", "remove or fill them")
        named_by = "data.corpus.left, right, answer and group"
        for number, (left, right, answer, *group) in read_table(path, self._names, named_by):
            where = f"{path}, line {number}"
            texts = as_text(where, self.left, left), as_text(where, self.right, right)
            if blank.found(path, number, *texts, str(answer), *map(str, group)):
                continue
            value = self._answer(where, answer)
            if known is not None and value not in known:
                raise ValueError(f"{where}: {no_class_of_train(self.answer, str(value), known)}")
            if self.group is None:
                yield texts[0], (*texts, value)
            else:
                name = as_label(where, self.group, group[0])
                yield name, (*texts, value, numbers.setdefault(name, len(numbers)))
        blank.refuse()

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
