"""Published translation sets, read with `datasets`: from a folder of files, or from the Hugging Face hub."""

from __future__ import annotations

import html
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.text.corpus import Pair, PairCorpus, two_languages
from data.text.hub_set import load_tables, names_and_hash
from zoo.core.text import is_blank

if TYPE_CHECKING:
    from datasets import Dataset

_log = logging.getLogger(__name__)

SPLITS = {"train": "train", "val": "validation", "test": "test"}
"""Ours, and what they are called there."""

_COLUMN = "translation"


@dataclass(kw_only=True)
class HubCorpus(PairCorpus):
    """Splits `train`, `validation` and `test` whose column `translation` holds a text for each language.

    Files of that layout in `<data_dir>/<name>` are used where they lie (Parquet, JSON lines, or whatever else
    `datasets.load_dataset` reads, named or sorted into folders by split); otherwise the set comes from the
    hub, and what was downloaded once is used without a network. Text stays on disk. Published sets have pairs
    with a blank side: they are left out and counted in the log.

    Attributes:
        name: the set's.
        data_dir: the folder that may hold a folder of that name.
        hub: the set's id on the hub.
        folder: the folder inside it that holds the files of this pair of languages.
        revision: which version of it: a commit, a branch or a tag.
        source: language to translate from.
        target: language to translate to.
        unescape: whether the set writes some characters as HTML does (`&apos;`), which its text should not.
    """

    name: str
    data_dir: str | Path
    hub: str
    folder: str
    revision: str
    source: str
    target: str
    unescape: bool = False

    def __post_init__(self) -> None:
        self.languages = two_languages(self.source, self.target)
        self._place = Path(self.data_dir).expanduser() / self.name

    def fingerprint(self) -> str:
        """How it is read, and the hash of every file, or which version of the published set it is."""
        if not self._place.is_dir():
            return repr((self.hub, self.folder, self.revision, self.languages, self.unescape))
        return repr((self.languages, self.unescape, *names_and_hash(self._place)))

    def load(self) -> Mapping[str, Iterator[Pair]]:
        """Finds or downloads the set.

        Raises:
            FileNotFoundError: it is neither there nor could be downloaded; says what was tried.
            ValueError: it has another layout; says what it has.
        """
        tables = self._tables()
        if missing := [split for split in SPLITS.values() if split not in tables]:
            raise ValueError(
                f"{self._where()} has no split {', '.join(missing)}; it has {', '.join(map(str, tables))}"
            )
        return {split: self._pairs(split, tables[theirs]) for split, theirs in SPLITS.items()}

    def _tables(self) -> Mapping[str, Dataset]:
        absent = (
            f"{self.name} is neither in {self._place} (Parquet or JSON lines, a file or folder for each"
            f" of {', '.join(SPLITS.values())}, a column {_COLUMN} with {self.source} and {self.target}),"
            f" nor could it be had from the Hugging Face hub ({self._where()})"
        )
        if self._place.is_dir():
            return load_tables(self._place, absent)
        return load_tables(self.hub, absent, data_dir=self.folder, revision=self.revision)

    def _pairs(self, split: str, table: Dataset) -> Iterator[Pair]:
        """The pairs of a split, some thousand at a time."""
        feature: Any = table.features.get(_COLUMN)
        known = list(getattr(feature, "languages", feature if isinstance(feature, dict) else []))
        if missing := [language for language in self.languages if language not in known]:
            raise ValueError(
                f"split {SPLITS[split]} of {self._where()} has no {' and no '.join(missing)} in a column"
                f" {_COLUMN}; it has {', '.join(known or table.column_names)}"
            )
        return self._seen(split, table)

    def _seen(self, split: str, table: Dataset) -> Iterator[Pair]:
        """The pairs without those that have a blank side."""
        blank = 0
        for rows in table.select_columns([_COLUMN]).iter(1000):
            for row in rows[_COLUMN]:
                pair = tuple((row or {}).get(language) or "" for language in self.languages)
                if not all(isinstance(text, str) for text in pair):
                    raise ValueError(f"split {SPLITS[split]} of {self._where()} holds other than text: {row}")
                if self.unescape:
                    pair = tuple(map(html.unescape, pair))
                if any(map(is_blank, pair)):
                    blank += 1
                else:
                    yield pair[0], pair[1]
        if blank:
            _log.warning("%s, split %s: %d pairs with a blank side are left out", self.name, split, blank)

    def _where(self) -> str:
        return str(self._place) if self._place.is_dir() else f"{self.hub}, {self.folder}, {self.revision}"
