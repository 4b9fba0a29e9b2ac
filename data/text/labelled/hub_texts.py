"""Any set of texts with a label that `datasets` reads, from a folder of files or the Hugging Face hub."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.text.columns import Column, Label, Sentences, Text
from data.text.corpus import Corpus
from data.text.labelled.folds import Example
from data.text.labelled.holding_out import require_share, with_held_out
from data.text.text_files import content_hash
from zoo.core.sentences import split_sentences
from zoo.core.text import check_language, is_blank

if TYPE_CHECKING:
    from datasets import Dataset

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class HubTexts(Corpus):
    """A set of `datasets` with a column of texts and one of labels.

    Files in `<data_dir>/<name>` are used where they lie, whatever `datasets.load_dataset` reads; otherwise
    the set comes from the hub. Splits that it lacks are held out of its `train`, see
    `data.text.labelled.holding_out`. Rows without a text or a label are left out and counted in the log.

    Attributes:
        data_dir: the folder that may hold a folder of the set's name.
        hub: the set's id on the hub; its last part, or all of it with `_` for `/`, is the folder's name.
        configuration: which of the set's configurations; None where it has one.
        revision: which version of it: a commit, a branch or a tag; None: the newest.
        text: name of the column of texts.
        label: name of the column of labels: names, or numbers of classes.
        train: name of the split to train on.
        val: that to validate on; None holds some of `train` out.
        test: that to test on; None holds some of `train` out.
        held_out: share of each label to hold out; above 0 and below 0.5.
        documents: whether texts are cut into sentences.
        language: ISO 639 code; may be empty.
    """

    data_dir: str | Path
    hub: str | None
    configuration: str | None = None
    revision: str | None = None
    text: str = "text"
    label: str = "label"
    train: str = "train"
    val: str | None = None
    test: str | None = "test"
    held_out: float = 0.1
    documents: bool = False
    language: str = ""

    def __post_init__(self) -> None:
        if not self.hub:
            raise ValueError("hub must be the id of a set, for example data.corpus.hub=stanfordnlp/imdb")
        require_share(self.held_out)
        if self.language:
            check_language(self.language)
        splits = {"train": self.train, "val": self.val, "test": self.test}
        self._splits = {ours: theirs for ours, theirs in splits.items() if theirs is not None}
        if len(set(self._splits.values())) < len(self._splits):
            raise ValueError(
                f"train, val and test must be different splits, got {', '.join(self._splits.values())}"
            )
        self.name = self.hub.replace("/", "_")
        places = [
            Path(self.data_dir).expanduser() / name for name in (self.name, self.hub.rpartition("/")[2])
        ]
        self._place = next((place for place in places if place.is_dir()), places[0])

    @property
    def columns(self) -> dict[str, Column]:
        """A text or a document, and its label."""
        kind: Column = Sentences(self.language) if self.documents else Text(self.language)
        return {"text": kind, "label": Label()}

    def fingerprint(self) -> str:
        """How it is read, and the hash of every file, or which version of the published set it is."""
        read = (self.text, self.label, self._splits, self.held_out, self.documents, self.configuration)
        if not self._place.is_dir():
            return repr((read, self.hub, self.revision))
        files = sorted(path for path in self._place.rglob("*") if path.is_file())
        return repr((read, [str(path.relative_to(self._place)) for path in files], content_hash(files)))

    def load(self) -> Mapping[str, Iterator[Example]]:
        """Finds or downloads the set.

        Raises:
            FileNotFoundError: it is neither there nor could be downloaded; says what was tried.
            ValueError: it lacks a split or a column; says what it has.
        """
        tables = self._tables()
        for split in self._splits.values():
            require_there(f"{self._where()}", "split", split, list(map(str, tables)))
            where = f"split {split} of {self._where()}"
            for column in (self.text, self.label):
                require_there(where, "column", column, tables[split].column_names)
        return with_held_out(
            self.name,
            self._splits,
            lambda split: self._read(split, tables[self._splits[split]]),
            self.held_out,
        )

    def _tables(self) -> Mapping[str, Dataset]:
        from datasets import load_dataset  # here, because it takes long

        assert self.hub
        try:
            if self._place.is_dir():
                found = load_dataset(str(self._place), name=self.configuration)
            else:
                found = load_dataset(self.hub, name=self.configuration, revision=self.revision)
        except Exception as error:  # of many libraries: of the hub, the network, the file formats
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            if self._place.is_dir():
                raise ValueError(f"{self._place} cannot be read: {reason}") from error
            raise FileNotFoundError(
                f"{self.hub} is neither in {self._place} (Parquet, CSV or JSON lines, a file or folder for"
                f" each of {', '.join(self._splits.values())}), nor could it be had from the Hugging Face"
                f" hub: {reason}"
            ) from error
        tables: Mapping[str, Dataset] = found
        return tables

    def _read(self, split: str, table: Dataset) -> Iterator[Example]:
        feature, left_out = table.features[self.label], 0
        for rows in table.select_columns([self.text, self.label]).iter(1000):
            for text, value in zip(rows[self.text], rows[self.label], strict=True):
                label = _named(feature, value)
                if not isinstance(text or "", str):
                    raise ValueError(f"split {split} of {self._where()}: {self.text} is no text: {text!r}")
                if is_blank(text or "") or is_blank(label):
                    left_out += 1
                else:
                    yield (split_sentences(text) if self.documents else text), label
        if left_out:
            _log.warning(
                "%s, split %s: %d rows lack a text or a label and are left out", self.name, split, left_out
            )

    def _where(self) -> str:
        return str(self._place) if self._place.is_dir() else str(self.hub)


def _named(feature: Any, value: Any) -> str:
    """The name of a label; empty for rows without one, whose class is -1 in published sets."""
    if value is None:
        return ""
    if not hasattr(feature, "int2str"):
        return str(value)
    return str(feature.int2str(value)) if value >= 0 else ""


def require_there(where: str, what: str, name: str, there: list[str]) -> None:
    """Refuses a name that is not there.

    Args:
        where: what lacks it.
        what: what it is, such as `column`.
        name: the name.
        there: those that are there.

    Raises:
        ValueError: names the nearest one and all that are there.
    """
    if name not in there:
        near = get_close_matches(name, there, n=1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"{where} has no {what} {name!r}{meant}; it has {', '.join(there)}")
