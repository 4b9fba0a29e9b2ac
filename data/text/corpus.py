"""What a corpus of texts must offer to `data.text.text_data.TextData`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from data.text.columns import Alignment, Column, Text

if TYPE_CHECKING:
    from datasets import Dataset  # which takes long to import

Pair = tuple[str, str]
"""Source and target sentence."""

Rows: TypeAlias = "Dataset | Iterable[tuple[Any, ...]]"
"""Items: a table with a column for each of the corpus's, or tuples with a value for each, in their order."""


class Corpus(ABC):
    """Texts, perhaps with labels, in named splits.

    Attributes:
        name: the corpus in results and file names, e.g. `multi30k`.
    """

    name: str

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Column]:
        """What every item has, by name; may be an attribute of the class."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Says everything that the items depend on: parameters, and the content of files.

        Prepared data is reused as long as this stays the same, so it must be much cheaper than `load`.
        """

    def check_files(self) -> None:  # noqa: B027  # most corpora need no file, or download it
        """Sees before a run that what cannot be downloaded is there; reads nothing.

        Raises:
            FileNotFoundError: a file is missing; says which, and where it comes from.
        """

    @abstractmethod
    def load(self) -> Mapping[str, Rows]:
        """The items of each split.

        Returns:
            `train`, `val`, `test` and any number of further `test_...` splits. Each is read once and kept on
            disk, so an iterator that reads a file as it goes never holds a large corpus in memory.
        """


class PairCorpus(Corpus):
    """Sentence pairs.

    Attributes:
        languages: ISO 639 codes of source and target; empty where a side is no single language.
        aligned: whether there is a third column `alignment`, with the true one.
    """

    languages: tuple[str, str] = ("", "")
    aligned = False

    @property
    def columns(self) -> dict[str, Column]:
        """A source and a target, which is the reference, and perhaps their alignment."""
        source, target = self.languages
        pair: dict[str, Column] = {"source": Text(source), "target": Text(target, reference=True)}
        return pair | {"alignment": Alignment()} if self.aligned else pair


def two_languages(source: str, target: str) -> tuple[str, str]:
    """The languages of pairs.

    Raises:
        ValueError: they are one.
    """
    if source == target:
        raise ValueError(f"source and target are both {source}")
    return source, target


@dataclass(kw_only=True)
class GeneratedCorpus(Corpus):
    """Items that a program writes: no file, no download.

    Attributes:
        seed: of the generator. It belongs to the data: training seeds leave the data alone.
        train: number of items.
        validation: number of items.
        test: number of items in each test split.
    """

    seed: int
    train: int
    validation: int
    test: int

    def __post_init__(self) -> None:
        for split in ("train", "validation", "test"):
            if getattr(self, split) < 1:
                raise ValueError(f"{split} must be at least 1, got {getattr(self, split)}")

    def fingerprint(self) -> str:
        """The parameters."""
        return repr(self)
