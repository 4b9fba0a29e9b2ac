"""What a corpus of sentence pairs must offer to `data.text.translation.TranslationData`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasets import Dataset


Pair = tuple[str, str]
"""Source and target sentence."""


class Corpus(ABC):
    """Sentence pairs in named splits.

    Attributes:
        name: the corpus in results and file names, e.g. `multi30k`.
        languages: ISO 639 codes of source and target; empty where a side is no single language.
        aligned: whether `load` knows the true alignment.
    """

    name: str
    languages: tuple[str, str] = ("", "")
    aligned = False

    @abstractmethod
    def fingerprint(self) -> str:
        """Says everything that the pairs depend on: parameters, and the content of files.

        Prepared data is reused as long as this stays the same, so it must be much cheaper than `load`.
        """

    def check_files(self) -> None:  # noqa: B027  # most corpora need no file that cannot be had later
        """Sees before a run that what cannot be downloaded is there; reads nothing.

        Raises:
            FileNotFoundError: a file is missing; says which, and where it comes from.
        """

    @abstractmethod
    def load(self) -> Mapping[str, Dataset | Iterable[Pair]]:
        """The pairs of each split.

        Returns:
            `train`, `val`, `test` and any number of further `test_...` splits. Each is read once and kept on
            disk, so an iterator that reads a file as it goes never holds a large corpus in memory. A
            `Dataset` has the text columns `source` and `target`. Where the truth is known, its column
            `alignment` holds for each target token, EOS included, the position of the source token behind it
            (-1: none).
        """


@dataclass(kw_only=True)
class GeneratedCorpus(Corpus):
    """Pairs that a program writes: no file, no download.

    Attributes:
        seed: of the generator. It belongs to the data: training seeds leave the data alone.
        train: number of pairs.
        validation: number of pairs.
        test: number of pairs in each test split.
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
