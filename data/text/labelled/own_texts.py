"""Anyone's own texts with a label each: a CSV, TSV or JSONL, or a folder for each label, for each split."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path

from data.core.paths import did_you_mean
from data.text.columns import Column, Label, Sentences, Text
from data.text.corpus import Corpus
from data.text.labelled.folds import Example
from data.text.labelled.holding_out import require_share, with_held_out
from data.text.tables import ENDINGS, as_label, as_text, ending, no_class_of_train, read_table
from data.text.text_files import Blank, content_hash
from zoo.core.reading import read_text
from zoo.core.sentences import split_sentences
from zoo.core.text import check_language, is_blank

_log = logging.getLogger(__name__)

_ALLOWED = (
    "a .csv, .tsv or .jsonl file, plain or packed as .gz,"
    " or a folder with a folder of .txt files for each label"
)

_LOOKED_AT = 1000
"""Rows of each file that are read before a run begins: many mistakes are of a whole file."""

Row = tuple[str, str, str]
"""A place, for messages, and the text and the label that stand there."""


@dataclass(kw_only=True)
class OwnTexts(Corpus):
    """Texts from files, or from folders of files.

    A CSV or TSV begins with the names of its columns (a TSV has no quotes), a JSONL has an object on each
    line. Splits that are not given are held out of `train`, see `data.text.labelled.holding_out`.

    Attributes:
        train: the texts to train on.
        val: those to validate on; None holds some out.
        test: those to test on; None holds some out.
        text: name of the column of texts.
        label: name of the column of labels.
        held_out: share of each label to hold out for each such split; above 0 and below 0.5.
        documents: whether texts are cut into sentences.
        language: ISO 639 code; may be empty.
    """

    train: str | None
    val: str | None = None
    test: str | None = None
    text: str = "text"
    label: str = "label"
    held_out: float = 0.1
    documents: bool = False
    language: str = ""
    name: str = field(default="labelled_text", init=False)

    def __post_init__(self) -> None:
        if not self.train:
            raise ValueError(f"train must name {_ALLOWED}; for example data.corpus.train=reviews.csv")
        require_share(self.held_out)
        if self.language:
            check_language(self.language)
        if self.text == self.label:
            raise ValueError(f"text and label are both the column {self.text!r}")
        given = {"train": self.train, "val": self.val, "test": self.test}
        self._paths = {
            split: Path(os.path.expanduser(path)) for split, path in given.items() if path is not None
        }
        for split, path in self._paths.items():
            _require_usable(split, path)
        for (split, path), (other, same) in combinations(self._paths.items(), 2):
            if os.path.realpath(path) == os.path.realpath(same):
                raise ValueError(f"{other} must have texts of its own; {path} is {split} as well")

    @property
    def columns(self) -> dict[str, Column]:
        """A text or a document, and its label."""
        kind: Column = Sentences(self.language) if self.documents else Text(self.language)
        return {"text": kind, "label": Label()}

    def check_files(self) -> None:
        """See `Corpus`; reads the first texts of each split, and looks at labels where that is all of train.

        Raises:
            ValueError: they cannot be used; names file and line.
        """
        first = [label for _, _, label in islice(self._rows(self._paths["train"]), _LOOKED_AT)]
        labels = self._classes(first) if len(first) < _LOOKED_AT else None
        for split, path in self._paths.items():
            if split != "train":
                for _ in islice(self._rows(path, labels), _LOOKED_AT):
                    pass

    def fingerprint(self) -> str:
        """How texts are read, and what stands in the files."""
        contents = {split: _contents(path) for split, path in self._paths.items()}
        return repr((contents, self.text, self.label, self.held_out, self.documents))

    def load(self) -> Mapping[str, Iterator[Example]]:
        """Reads the files as they are needed.

        Raises:
            ValueError: a file cannot be used; names file and line. Or there is a single label, or a label has
                too few texts to hold any out.
        """
        labels = self._classes(label for _, _, label in self._rows(self._paths["train"]))
        return with_held_out(
            self.name, self._paths, lambda split: self._read(self._paths[split], labels), self.held_out
        )

    def _classes(self, found: Iterable[str]) -> set[str]:
        """The labels of train, of which there must be two."""
        labels = set(found)
        if len(labels) < 2:
            has = f"one label, {labels.pop()!r}" if labels else "no texts"
            raise ValueError(f"{self._paths['train']} has {has}: there is nothing to learn")
        return labels

    def _read(self, path: Path, labels: Collection[str]) -> Iterator[Example]:
        for _, text, label in self._rows(path, labels):
            yield (split_sentences(text) if self.documents else text), label

    def _rows(self, path: Path, labels: Collection[str] | None = None) -> Iterator[Row]:
        """The texts of a file or folder, whose labels must be of these; None: they may be any."""
        for where, text, label in self._found(path):
            if labels is not None and label not in labels:
                raise ValueError(f"{where}: {no_class_of_train(self.label, label, labels)}")
            yield where, text, label

    def _found(self, path: Path) -> Iterator[Row]:
        if path.is_dir():
            yield from _of_folder(path)
            return
        blank = Blank(f"lacks {self.text} or {self.label}", "remove or fill them")
        columns, named_by = (self.text, self.label), "data.corpus.text and data.corpus.label"
        for number, (text, label) in read_table(path, columns, named_by):
            where = f"{path}, line {number}"
            row = as_text(where, self.text, text), as_label(where, self.label, label)
            if not blank.found(path, number, *row):
                yield where, *row
        blank.refuse()


def _of_folder(path: Path) -> Iterator[Row]:
    for folder in _label_folders(path):
        for file in _texts(folder):
            text = read_text(file)
            if is_blank(text):
                raise ValueError(f"{file} is blank")
            yield str(file), text, folder.name


def _label_folders(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))


def _texts(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.suffix == ".txt" and not one.name.startswith("."))


def _contents(path: Path) -> tuple[object, ...]:
    if not path.is_dir():
        return ending(path), content_hash([path])
    files = [file for folder in _label_folders(path) for file in _texts(folder)]
    return [str(file.relative_to(path)) for file in files], content_hash(files)


def _require_usable(split: str, path: Path) -> None:
    """Refuses what is neither a table nor a folder of folders.

    Raises:
        ValueError: says what is there, and what is allowed.
    """
    if path.is_dir():
        folders = _label_folders(path)
        if not folders:
            raise ValueError(f"{split} must be {_ALLOWED}; the folder {path} has no folder in it")
        if empty := [folder for folder in folders if not _texts(folder)]:
            raise ValueError(f"{split} must be {_ALLOWED}; {empty[0]} has no .txt file")
        inside = [one for folder in folders for one in folder.iterdir() if not one.name.startswith(".")]
        if others := sorted(one for one in inside if one.suffix != ".txt"):
            _log.warning(
                "%s: %d files that are no .txt are left out, such as %s", path, len(others), others[0]
            )
    elif not path.is_file():
        raise ValueError(f"{split} needs {path}, which does not exist{did_you_mean(path)}")
    elif ending(path) not in ENDINGS:
        raise ValueError(f"{split} must be {_ALLOWED}; got {path}")
