"""Published sets of long texts with a label: IMDB, movie polarity v2.0, 20 Newsgroups."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from data.text.columns import Column, Label, Sentences, Text
from data.text.corpus import Corpus
from data.text.labelled.folds import Example, FoldedCorpus, without_validation
from data.text.labelled.published_file import PublishedFile, find, json_lines_of, without_controls
from data.text.text_files import content_hash
from zoo.core.sentences import split_sentences
from zoo.core.text import is_blank

_log = logging.getLogger(__name__)

_VALENCE = {0: "negative", 1: "positive"}
"""The labels of reviews, and what they mean."""


@dataclass(kw_only=True)
class _Documents(Corpus):
    """Texts that are read as documents of sentences, or each as one; either way they have the same words.

    Class attributes:
        folder: where the files lie, below `data_dir`.
        files: all of them.
        source: where they come from.
        labels: of the files, and the names of the classes.

    Attributes:
        data_dir: holds the folder.
        documents: whether they are documents of sentences.
    """

    folder: ClassVar[str]
    files: ClassVar[Sequence[PublishedFile]]
    source: ClassVar[str]
    labels: ClassVar[Mapping[Any, str]]

    data_dir: str | Path
    documents: bool

    @property
    def columns(self) -> dict[str, Column]:
        """A document or a text, and its label."""
        return {
            "text": Sentences("en") if self.documents else Text("en"),
            "label": Label(tuple(self.labels.values())),
        }

    def check_files(self) -> None:
        """See `Corpus`."""
        self._paths()

    def fingerprint(self) -> str:
        """How texts are read, and what stands in the files."""
        return f"{self.documents} {content_hash(self._paths())}"

    def _paths(self) -> list[Path]:
        return find(Path(self.data_dir).expanduser() / self.folder, self.files, self.source)

    def _read(self, path: Path) -> Iterator[Example]:
        """The texts of a file of JSON lines with `text` and `label`."""
        for row in json_lines_of(path, {"text": str}, self.labels):
            yield self._example(split_sentences(self._cleaned(row["text"])), row["label"])

    def _example(self, sentences: list[str], label: str | int) -> Example:
        return (sentences if self.documents else " ".join(sentences)), self.labels[label]

    def _cleaned(self, text: str) -> str:
        """A text as it was written."""
        return without_controls(text)


@dataclass(kw_only=True)
class IMDB(_Documents):
    """Movie reviews (Maas et al. 2011): 25,000 to train on, of which a tenth is validated on, and 25,000.

    Line breaks that are written `<br />` end a sentence.
    """

    folder = "imdb"
    files: ClassVar = (
        PublishedFile("train.jsonl", "13 MB packed"),
        PublishedFile("test.jsonl", "13 MB packed"),
    )
    source = (
        "https://ai.stanford.edu/~amaas/data/sentiment/, one line"
        ' {"text": ..., "label": 0 or 1, "id": ...} for each file of aclImdb/'
    )
    labels: ClassVar = _VALENCE
    name: str = field(default="imdb", init=False)

    def load(self) -> dict[str, list[Example]]:
        """See `Corpus`."""
        train, test = (list(self._read(path)) for path in self._paths())
        return without_validation(train) | {"test": test}

    def _cleaned(self, text: str) -> str:
        return without_controls(text).replace("<br />", "\n\n")


@dataclass(kw_only=True)
class Polarity(_Documents, FoldedCorpus):
    """Movie reviews, polarity dataset v2.0 (Pang and Lee 2004): 2,000, in the ten folds that they come in."""

    folder = "polarity_v2"
    files: ClassVar = (PublishedFile("polarity_v2.jsonl", "3 MB packed"),)
    source = (
        "https://www.cs.cornell.edu/people/pabo/movie-review-data/ (polarity dataset v2.0), one line"
        ' {"id": ..., "label": 0 or 1, "fold": 0 to 9, "sents": [...]} for each review'
    )
    labels: ClassVar = _VALENCE
    fold: int = field(default=0, init=False)
    name: str = field(default="polarity", init=False)

    def fingerprint(self) -> str:
        """See `_Documents`; and the fold."""
        return f"{self.fold} {super().fingerprint()}"

    def examples(self) -> list[Example]:
        """See `FoldedCorpus`."""
        return [self._example(list(map(_single_blanks, row["sents"])), row["label"]) for row in self._rows()]

    def folds(self, examples: list[Example]) -> list[int]:
        """The published ones."""
        return [row["fold"] for row in self._rows()]

    def _rows(self) -> Iterator[dict[str, Any]]:
        return json_lines_of(self._paths()[0], {"fold": int, "sents": list}, self.labels)


def _single_blanks(sentence: str) -> str:
    return " ".join(sentence.split())


_GROUPS = (
    *("alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"),
    *("comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles"),
    *("rec.sport.baseball", "rec.sport.hockey", "sci.crypt", "sci.electronics", "sci.med", "sci.space"),
    *("soc.religion.christian", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    "talk.religion.misc",
)

_NOTHING = "(blank)"
"""Stands for a post without text, so that no test item is left out."""


@dataclass(kw_only=True)
class Newsgroups20(_Documents):
    """Posts of 20 newsgroups, split by date (Lang 1995): 11,314 to train on, a tenth for val, and 7,532.

    From, Subject, Organization and the other lines before the first empty one tell much of the group, so
    posts with and without them are different sets, with names of their own.

    Attributes:
        headers: whether these lines are kept.
    """

    folder = "20ng"
    files: ClassVar = (
        PublishedFile("train.jsonl", "8 MB packed"),
        PublishedFile("test.jsonl", "5 MB packed"),
    )
    source = (
        "http://qwone.com/~jason/20Newsgroups/ (20news-bydate), one line"
        ' {"text": ..., "label": the group, "id": ...} for each post, read as ISO-8859-1'
    )
    labels: ClassVar = {group: group for group in _GROUPS}
    headers: bool

    @property
    def name(self) -> str:  # type: ignore[override]  # which others declare as an attribute
        """Says whether the headers are there."""
        return "newsgroups20_headers" if self.headers else "newsgroups20"

    def fingerprint(self) -> str:
        """See `_Documents`; and whether headers are kept."""
        return f"{self.headers} {super().fingerprint()}"

    def load(self) -> dict[str, list[Example]]:
        """See `Corpus`."""
        train, test = (list(self._read(path)) for path in self._paths())
        for split, rows in (("train", train), ("test", test)):
            blank = sum(text in ([_NOTHING], _NOTHING) for text, _ in rows)
            _log.info("%s: %d posts of %s are blank and read as %s", self.name, blank, split, _NOTHING)
        return without_validation(train) | {"test": test}

    def _cleaned(self, text: str) -> str:
        text = without_controls(text.replace("\r", " "))
        body = text if self.headers else text.partition("\n\n")[2]
        return _NOTHING if is_blank(body) else body
