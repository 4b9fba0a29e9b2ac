"""The columns that a corpus may have: what stands in each, and what is stored of it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]

from zoo.core.text import is_blank


@dataclass(frozen=True)
class Column(ABC):
    """What every item of a corpus has.

    Attributes:
        arrow: the type that it is stored as.
        hashed: whether it is part of the hash of the test split.
    """

    arrow: ClassVar[pa.DataType]
    hashed: ClassVar[bool] = True

    @abstractmethod
    def problem(self, value: Any) -> str | None:
        """What is wrong with a value; None for a good one."""

    @staticmethod
    def hashable(value: Any) -> Any:
        """What of a value is hashed."""
        return value


@dataclass(frozen=True)
class Text(Column):
    """A text, which is read as one sentence.

    Attributes:
        language: ISO 639 code; empty where it is no single language.
        reference: whether models must write it: it is scored whole, never cut in evaluation.
    """

    arrow = pa.string()
    language: str = ""
    reference: bool = False

    def problem(self, value: Any) -> str | None:
        """See `Column`: it must be a text that is not blank."""
        if not isinstance(value, str):
            return f"must be a text, got {value!r}"
        return f"is blank: {value!r}" if is_blank(value) else None

    @staticmethod
    def sentences(values: Iterable[str]) -> Iterator[str]:
        """All sentences of some values."""
        return iter(values)


@dataclass(frozen=True)
class Sentences(Column):
    """A document: a list of sentences.

    Attributes:
        language: ISO 639 code; empty where it is no single language.
    """

    arrow = pa.list_(pa.string())
    language: str = ""

    def problem(self, value: Any) -> str | None:
        """See `Column`: it must be a list of texts of which none is blank."""
        if not isinstance(value, list | tuple) or not value:
            return f"must be a list of sentences, at least one, got {value!r}"
        return next((f"has a sentence that {wrong}" for one in value if (wrong := Text().problem(one))), None)

    @staticmethod
    def sentences(values: Iterable[Sequence[str]]) -> Iterator[str]:
        """All sentences of some documents."""
        return (sentence for document in values for sentence in document)

    @staticmethod
    def hashable(value: Sequence[str]) -> str:
        """See `Column`: the whole text, so that it may be compared with what reads it as one."""
        return " ".join(value)


@dataclass(frozen=True)
class Label(Column):
    """The name of a class.

    Attributes:
        classes: all names, in the order of their numbers; empty: those of train, sorted.
    """

    arrow = pa.string()
    classes: tuple[str, ...] = ()

    def problem(self, value: Any) -> str | None:
        """See `Column`: it must be a name, one of the classes where these are given."""
        if not isinstance(value, str) or not value:
            return f"must be the name of a class, got {value!r}"
        if self.classes and value not in self.classes:
            return f"must be one of {', '.join(self.classes)}, got {value!r}"
        return None


@dataclass(frozen=True)
class Degree(Column):
    """A number in a range, such as how alike two sentences are.

    Attributes:
        lowest, highest: the bounds, which are included.
    """

    arrow = pa.float64()
    lowest: float
    highest: float

    def problem(self, value: Any) -> str | None:
        """See `Column`: it must be a number in the range."""
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if number and self.lowest <= value <= self.highest:
            return None
        return f"must be a number from {self.lowest:g} to {self.highest:g}, got {value!r}"


@dataclass(frozen=True)
class Group(Column):
    """A whole number that items share which are ranked against each other, such as that of a question."""

    arrow = pa.int64()

    def problem(self, value: Any) -> str | None:
        """See `Column`: it must be a whole number."""
        return None if type(value) is int else f"must be a whole number, got {value!r}"


@dataclass(frozen=True)
class Place(Column):
    """Which word of a text decides about its label, for texts whose words stand between blanks.

    Values are lists: the word's number; of documents the number of its sentence and its own in that. All are
    -1 where no word decides.

    Attributes:
        text: the column of the text.
    """

    arrow = pa.list_(pa.int32())
    hashed = False
    text: str = "text"

    def problem(self, value: Any) -> str | None:
        """See `Column`: it must be a list of one or two whole numbers, from 0 on or all -1."""
        good = isinstance(value, list | tuple) and all(type(one) is int for one in value)
        if good and len(value) in (1, 2) and (min(value) >= 0 or set(value) == {-1}):
            return None
        return f"must be one or two numbers from 0 on, or -1 for each, got {value!r}"


@dataclass(frozen=True)
class Alignment(Column):
    """For each token of one text, EOS included, the position of another text's token behind it; -1: none.

    Attributes:
        source: the column whose positions they are.
        target: the column whose tokens have them.
    """

    arrow = pa.list_(pa.int32())
    hashed = False
    source: str = "source"
    target: str = "target"

    def problem(self, value: Any) -> str | None:
        """See `Column`: it must be a list of whole numbers."""
        good = isinstance(value, list | tuple) and all(type(one) is int and one >= -1 for one in value)
        return None if good else f"must be a list of positions, got {value!r}"
