"""Corpora of running text: each row is a document, as it stands, with its line breaks."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import ClassVar

from data.core.paths import did_you_mean
from data.text.columns import Column, Sentences, Text
from data.text.corpus import Corpus
from data.text.labelled.document_sets import IMDB
from data.text.labelled.holding_out import require_share, with_held_out
from data.text.labelled.published_file import PublishedFile, find, read_lines_of
from data.text.text_files import content_hash
from zoo.core.reading import read_text, require_utf8_begins
from zoo.core.text import check_language, is_blank

Document = tuple[str]


class RunningText(Corpus):
    """Documents in one column, `text`.

    Attributes:
        language: ISO 639 code; empty where it is no single language.
    """

    language: str = ""

    @property
    def columns(self) -> dict[str, Column]:
        """The text."""
        return {"text": Text(self.language)}


@dataclass(kw_only=True)
class _Published(RunningText):
    """Files of a published set.

    Class attributes:
        folder: where they lie, below `data_dir`.
        files: all of them.
        source: where they come from.

    Attributes:
        data_dir: holds the folder.
    """

    folder: ClassVar[str]
    files: ClassVar[Sequence[PublishedFile]]
    source: ClassVar[str]

    data_dir: str | Path

    def check_files(self) -> None:
        """See `Corpus`."""
        self._paths()

    def fingerprint(self) -> str:
        """What stands in the files."""
        return content_hash(self._paths())

    def _paths(self) -> list[Path]:
        return find(Path(self.data_dir).expanduser() / self.folder, self.files, self.source)


@dataclass(kw_only=True)
class Shakespeare(_Published):
    """Tiny Shakespeare (Karpathy 2015): 1,115,394 characters of plays.

    `val` is the last tenth, as in Karpathy's nanoGPT, which has no test split and trains on all before it.
    Here the last twentieth of the whole before `val` is `test`, and not trained on.
    """

    folder = "tinyshakespeare"
    files: ClassVar = (PublishedFile("input.txt", "1.1 MB"),)
    source = "https://github.com/karpathy/char-rnn, data/tinyshakespeare"
    language = "en"
    name: str = field(default="shakespeare", init=False)

    def load(self) -> dict[str, list[Document]]:
        """See `Corpus`."""
        (path,) = self._paths()
        text = _whole(path)
        test, val = int(0.85 * len(text)), int(0.9 * len(text))
        return {"train": [(text[:test],)], "val": [(text[val:],)], "test": [(text[test:val],)]}


@dataclass(kw_only=True)
class WikiText2(_Published):
    """WikiText-2 (Merity et al. 2017): articles of Wikipedia, cut into words, rare ones `<unk>`.

    With one `<eos>` for each line, blank ones too, train has 2,088,628 tokens, val 217,646 and test 245,569:
    those of published perplexities.
    """

    folder = "wikitext2"
    files: ClassVar = (
        PublishedFile("wiki.train.tokens", "11 MB"),
        PublishedFile("wiki.valid.tokens", "1.1 MB"),
        PublishedFile("wiki.test.tokens", "1.3 MB"),
    )
    source = "the WikiText-2 word-level set (Merity et al. 2017)"
    language = "en"
    name: str = field(default="wikitext2", init=False)

    def load(self) -> dict[str, list[Document]]:
        """See `Corpus`: a document is an article, from the blank line before its heading on."""
        return {
            split: [(article,) for article in _ARTICLE.split(_whole(path))]
            for split, path in zip(("train", "val", "test"), self._paths(), strict=True)
        }


_ARTICLE = re.compile(r"(?<=\n)(?= \n = [^=\n][^\n]* = \n \n)")
"""Where an article begins: a blank line, its heading between single `=`, and another blank line."""


@dataclass(kw_only=True)
class WikiText2Paragraphs(WikiText2):
    """WikiText-2 with each paragraph of two sentences or more as a document; see `WikiText2`.

    A sentence ends at a full stop between blanks, which is not kept, as in "Dive into Deep Learning" (Zhang
    et al. 2023, section 15.9).
    """

    name: str = field(default="wikitext2_paragraphs", init=False)

    @property
    def columns(self) -> dict[str, Column]:
        """The sentences."""
        return {"text": Sentences(self.language)}

    def load(self) -> dict[str, list[tuple[list[str]]]]:  # type: ignore[override]  # sentences for texts
        """See `Corpus`."""
        return {
            split: [
                (sentences,)
                for line in _whole(path).splitlines()
                if len(sentences := line.strip().split(" . ")) > 1
            ]
            for split, path in zip(("train", "val", "test"), self._paths(), strict=True)
        }


@dataclass(kw_only=True)
class ImdbTexts(IMDB):
    """Movie reviews without their labels, each a document; see `IMDB`."""

    documents: bool = field(default=False, init=False)
    name: str = field(default="imdb_texts", init=False)

    @property
    def columns(self) -> dict[str, Column]:
        """The text."""
        return {"text": Text("en")}

    def load(self) -> dict[str, Iterator[Document]]:  # type: ignore[override]  # without labels
        """See `Corpus`."""
        return {split: ((str(text),) for text, _ in rows) for split, rows in super().load().items()}


_MODULES = {
    "train": "abc argparse ast base64 bdb bisect calendar cmd codecs codeop configparser contextlib"
    " copy copyreg csv dataclasses difflib dis doctest enum filecmp fileinput fnmatch"
    " fractions ftplib functools getopt gettext glob gzip hashlib heapq hmac imaplib inspect"
    " ipaddress linecache locale mailbox mimetypes netrc numbers operator optparse os pdb"
    " pickle pickletools pkgutil plistlib poplib pprint profile pstats pyclbr queue quopri"
    " random reprlib runpy sched selectors shlex shutil site smtplib socket socketserver ssl"
    " statistics string stringprep subprocess tarfile tempfile threading timeit tokenize trace"
    " traceback types typing uuid warnings wave weakref zipapp",
    "val": "code colorsys keyword posixpath symtable textwrap tracemalloc webbrowser",
    "test": "getpass graphlib platform secrets shelve stat tabnanny zipimport",
}
"""Modules that are one file in every version of Python from 3.11 on."""


@dataclass(kw_only=True)
class StandardLibrary(RunningText):
    """The source text of modules of Python's own standard library: on every machine, split by file.

    It differs from one version of Python to the next, and so do its hash and what is measured on it.
    """

    name: str = field(default="stdlib", init=False)

    def check_files(self) -> None:
        """See `Corpus`."""
        self._paths()

    def fingerprint(self) -> str:
        """What stands in the files."""
        return " ".join(content_hash(paths) for paths in self._paths().values())

    def load(self) -> dict[str, list[Document]]:
        """See `Corpus`."""
        return {split: [(read_text(path),) for path in paths] for split, paths in self._paths().items()}

    def _paths(self) -> dict[str, list[Path]]:
        folder = Path(sysconfig.get_paths()["stdlib"])
        paths = {
            split: [folder / f"{module}.py" for module in modules.split()]
            for split, modules in _MODULES.items()
        }
        if missing := [str(one) for files in paths.values() for one in files if not one.is_file()]:
            raise FileNotFoundError(
                f"Python's standard library comes without its source text here: {', '.join(missing[:3])} of"
                f" {len(missing)} missing files; take another data="
            )
        return paths


@dataclass(kw_only=True)
class OwnRunningText(RunningText):
    """Anyone's own text: a file, or a folder whose `.txt` files are documents, also in folders below it.

    Splits that are not given are held out of `train`: of one file its end, of a folder whole files.

    Attributes:
        train: the file or folder to train on.
        val: that to validate on; None holds some out.
        test: that to test on; None holds some out.
        held_out: share of the characters of a file, or of the files, for each split that is missing; above 0
            and below 0.5.
        language: ISO 639 code; may be empty.
    """

    train: str | None
    val: str | None = None
    test: str | None = None
    held_out: float = 0.1
    language: str = ""
    name: str = field(default="text", init=False)

    def __post_init__(self) -> None:
        if self.train is None:
            raise ValueError(f"train must name {_ALLOWED}; for example data.corpus.train=book.txt")
        require_share(self.held_out)
        if self.language:
            check_language(self.language)
        given = {"train": self.train, "val": self.val, "test": self.test}
        self._given = {split: Path(os.path.expanduser(path)) for split, path in given.items() if path}
        for split, path in self._given.items():
            if not path.exists():
                raise ValueError(f"{split} needs {path}, which does not exist{did_you_mean(path)}")
            if path.is_dir() and not _files(path):
                raise ValueError(f"{split} must be {_ALLOWED}; the folder {path} has no .txt file")
        for (split, path), (other, same) in combinations(self._given.items(), 2):
            if os.path.realpath(path) == os.path.realpath(same):
                raise ValueError(f"{other} must have text of its own; {path} is {split} as well")

    def check_files(self) -> None:
        """See `Corpus`; a file that is empty or begins in another encoding is named, however many there are.

        Raises:
            ValueError: names the first.
        """
        for file in (file for path in self._given.values() for file in _files(path) if file.is_file()):
            if not file.stat().st_size:
                raise ValueError(f"{file} is empty")
            require_utf8_begins(file)

    def fingerprint(self) -> str:
        """What is held out, and what stands in the files."""
        contents = {split: content_hash(_files(path)) for split, path in self._given.items()}
        return repr((contents, self.held_out))

    def load(self) -> Mapping[str, Iterator[Document]]:
        """Reads the files as they are needed.

        Raises:
            ValueError: a file cannot be read, is blank or too short, or there are too few to hold some out.
        """
        train = self._given["train"]
        missing = [split for split in ("val", "test") if split not in self._given]
        if missing and not train.is_dir():
            return self._cut(_of_file(train), missing)
        rows = with_held_out(
            self.name,
            self._given,
            lambda split: ((_of_file(path), "document") for path in _files(self._given[split])),
            self.held_out,
        )
        return {split: ((str(text),) for text, _ in found) for split, found in rows.items()}

    def _cut(self, text: str, missing: list[str]) -> dict[str, Iterator[Document]]:
        """The end of a file for each split that is missing."""
        ends = [int(len(text) * (1 - self.held_out * part)) for part in range(len(missing), -1, -1)]
        parts = dict(zip(["train", *missing], zip([0, *ends], ends, strict=False), strict=True))
        if blank := [split for split, (start, end) in parts.items() if is_blank(text[start:end])]:
            raise ValueError(
                f"{self._given['train']} has {len(text):,} characters, and with held_out={self.held_out:g} no"
                f" text is left for {' and '.join(blank)}: give a longer file, or others with"
                f" {' and '.join(f'data.corpus.{split}=' for split in missing)}"
            )
        splits = {split: iter([(text[start:end],)]) for split, (start, end) in parts.items()}
        for split, path in self._given.items():
            if split != "train":
                splits[split] = ((_of_file(one),) for one in _files(path))
        return splits


_ALLOWED = "a text file, or a folder of .txt files"


def _files(path: Path) -> list[Path]:
    """The file, or all text files in the folder and below it."""
    if not path.is_dir():
        return [path]
    return sorted(one for one in path.rglob("*.txt") if not one.name.startswith("."))


def _of_file(path: Path) -> str:
    text = read_text(path)
    if is_blank(text):
        raise ValueError(f"{path} is blank")
    return text


def _whole(path: Path) -> str:
    """A file as it stands, packed or not, but for carriage returns."""
    return "".join(f"{line}\n" for _, line in read_lines_of(path, "utf-8"))
