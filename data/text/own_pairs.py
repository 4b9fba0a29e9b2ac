"""Anyone's own pairs of texts with an answer each: a CSV, TSV or JSONL with named columns for each split."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path

from data.core.paths import did_you_mean
from data.text.answered_pairs import AnsweredPairs, Found
from data.text.tables import ENDINGS, as_text, ending, read_table
from data.text.text_files import Blank, content_hash

_ALLOWED = "a .csv, .tsv or .jsonl file, plain or packed as .gz"

_LOOKED_AT = 1000
"""Rows of each file that are read before a run begins: many mistakes are of a whole file."""


@dataclass(kw_only=True)
class OwnPairs(AnsweredPairs):
    """Pairs of texts from files; see `AnsweredPairs`.

    Attributes:
        train: the pairs to train on.
        val: those to validate on; None holds some out.
        test: those to test on; None holds some out.
    """

    train: str | None
    val: str | None = None
    test: str | None = None
    name: str = field(default="text_pairs", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train is None:
            raise ValueError(f"train must name {_ALLOWED}; for example data.corpus.train=questions.csv")
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

    def check_files(self) -> None:
        """See `Corpus`; reads the first pairs of each split, and looks at labels where that is all of train.

        Raises:
            ValueError: they cannot be used; names file and line.
        """
        first = [str(answer) for _, (_, _, answer, *_) in islice(self._keyed("train"), _LOOKED_AT)]
        known = None
        if self.labels is None and self.degrees is None and len(first) < _LOOKED_AT:
            known = set(first)
            if len(known) < 2:
                has = f"one label, {first[0]!r}" if first else "no pairs"
                raise ValueError(f"{self._paths['train']} has {has}: there is nothing to learn")
        for split in self._paths:
            if split != "train":
                for _ in islice(self._keyed(split, known), _LOOKED_AT):
                    pass

    def fingerprint(self) -> str:
        """How pairs are read, and what stands in the files."""
        contents = {split: (ending(path), content_hash([path])) for split, path in self._paths.items()}
        return repr((contents, self._names, self.labels, self.degrees, self.held_out))

    def given(self) -> Collection[str]:
        """See `AnsweredPairs`."""
        return self._paths

    def rows(self, split: str) -> Iterator[Found]:
        """See `AnsweredPairs`; one error names the lines of all blank rows."""
        path, named_by = self._paths[split], "data.corpus.left, right, answer and group"
        blank = Blank(f"lacks {', '.join(self._names[:-1])} or {self._names[-1]}", "remove or fill them")
        for number, (left, right, *others) in read_table(path, self._names, named_by):
            where = f"{path}, line {number}"
            texts = as_text(where, self.left, left), as_text(where, self.right, right)
            if not blank.found(path, number, *texts, *map(str, others)):
                yield where, (*texts, *others)
        blank.refuse()
