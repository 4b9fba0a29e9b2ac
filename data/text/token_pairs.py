"""Pairs of sentences in the layout of github.com/castorini/data: WikiQA and MSRP.

Each split is a folder of four files with a line for each pair: `a.toks` and `b.toks` (lower-cased Treebank
tokens between blanks), `sim.txt` (0 or 1) and `id.txt`.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

from sklearn.model_selection import train_test_split

from data.text.columns import Column, Group, Label, Text
from data.text.corpus import Corpus
from data.text.text_files import content_hash, read_lines

_FILES = ("a.toks", "b.toks", "sim.txt", "id.txt")

_SEED = 1582
"""The seed that chooses what is held out: it belongs to the data, whatever the run's seed."""

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class TokenPairs(Corpus):
    """What both sets share.

    Attributes:
        data_dir: the folder that holds the set's.
    """

    classes: ClassVar[tuple[str, str]]
    folders: ClassVar[Mapping[str, str]]
    source: ClassVar[str]

    data_dir: str | Path

    def fingerprint(self) -> str:
        """The hashes of the files."""
        return content_hash([path for split in self.folders for path in self._paths(split)])

    def check_files(self) -> None:
        """See `Corpus`."""
        missing = [path for split in self.folders for path in self._paths(split) if not path.is_file()]
        if missing:
            more = f" and {len(missing) - 1} more files" if missing[1:] else ""
            raise FileNotFoundError(
                f"{self.name} needs {missing[0]}{more}:"
                f" get the folder {self.source} and put it at {self._folder}"
            )

    @property
    def _folder(self) -> Path:
        return Path(self.data_dir).expanduser() / self.name

    def _paths(self, split: str) -> list[Path]:
        return [self._folder / self.folders[split] / name for name in _FILES]

    def _read(self, split: str) -> Iterator[tuple[str, str, str, int]]:
        """Left, right, label and number of each pair.

        Raises:
            ValueError: a file cannot be used; names file and line.
        """
        paths = self._paths(split)
        for line, row in enumerate(zip_longest(*map(read_lines, paths)), start=1):
            if None in row:
                raise ValueError(f"{paths[row.index(None)]} ends first, after {line - 1} lines")
            left, right, similar, number = row
            if similar not in ("0", "1", "0.0", "1.0"):
                raise ValueError(f"{paths[2]}, line {line}: must be 0 or 1, got {similar!r}")
            if not number.isdecimal():
                raise ValueError(f"{paths[3]}, line {line}: must be a whole number, got {number!r}")
            yield left, right, self.classes[int(float(similar))], int(number)


@dataclass(kw_only=True)
class WikiQA(TokenPairs):
    """Questions, and the sentences of a page, of which some answer them (Yang et al. 2015).

    Of the published set the questions that have an answer: 873, 126 and 243 of them. Answers are cut at 40
    tokens. A group is a question; its candidates stand in the order of the page.
    """

    classes = ("other", "answer")
    folders: ClassVar = {"train": "train", "val": "dev", "test": "test"}
    source = "WikiQA of github.com/castorini/data (2 MB)"
    name: str = field(default="wikiqa", init=False)

    @property
    def columns(self) -> dict[str, Column]:
        """A question, a sentence, whether it answers, and the question's number."""
        return {"left": Text("en"), "right": Text("en"), "label": Label(self.classes), "group": Group()}

    def load(self) -> dict[str, Iterator[tuple[Any, ...]]]:
        """Reads the files as they are needed."""
        self.check_files()
        return {split: self._read(split) for split in self.folders}


@dataclass(kw_only=True)
class Msrp(TokenPairs):
    """Microsoft's paraphrase corpus: are two sentences of news paraphrases (Dolan et al. 2004)?

    4,076 pairs to train on and 1,725 to test on; a tenth of the former is held out as `val`, as many of each
    class, always the same ones.
    """

    classes = ("different", "paraphrase")
    folders: ClassVar = {"train": "train", "test": "test"}
    source = "MSRP of github.com/castorini/data (2 MB)"
    name: str = field(default="msrp", init=False)

    @property
    def columns(self) -> dict[str, Column]:
        """Two sentences, and what they are to each other."""
        return {"left": Text("en"), "right": Text("en"), "label": Label(self.classes)}

    def load(self) -> dict[str, list[tuple[str, str, str]]]:
        """Reads the files, and holds out `val`.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: a file cannot be used; names the line.
        """
        self.check_files()
        train, test = ([row[:3] for row in self._read(split)] for split in ("train", "test"))
        train, val = train_test_split(
            train, test_size=0.1, random_state=_SEED, stratify=[label for _, _, label in train]
        )
        _log.info("%s: %d pairs of train are held out as val", self.name, len(val))
        return {"train": train, "val": val, "test": test}
