"""Toys whose answer stands in one known word, if any: in a row of words, or in a sentence of a document."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, ClassVar, TypeAlias

from data.text.columns import Column, Label, Place, Sentences, Text
from data.text.corpus import GeneratedCorpus

NEEDLES = {
    "animal": ("cat", "dog", "horse", "mouse", "sheep"),
    "colour": ("black", "blue", "green", "red", "white"),
    "fruit": ("apple", "cherry", "lemon", "pear", "plum"),
    "metal": ("copper", "gold", "iron", "silver", "zinc"),
}
"""The words that decide, by label."""

NOTHING = "nothing"
"""The label of rows without such a word. Without these, one of the other labels could be inferred."""

_LABELS = (*NEEDLES, NOTHING)

FILLERS = tuple(
    first + second for first, second in product(("ba", "do", "ki", "lu", "me", "ro", "su"), repeat=2)
)
"""Words that mean nothing."""

Row: TypeAlias = tuple[Any, str, list[int]]
"""A text or a document, its label, and the place of the word that decides; -1: there is none."""


@dataclass(kw_only=True)
class _Needles(GeneratedCorpus):
    """Words without a meaning, and perhaps one that decides the label.

    No row stands twice, within or across splits.

    Attributes:
        minimum_length: fewest words of a sentence.
        maximum_length: most words of a sentence.
    """

    minimum_length: int
    maximum_length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.minimum_length <= self.maximum_length:
            raise ValueError(
                "minimum_length must be at least 1 and at most maximum_length,"
                f" got {self.minimum_length} and {self.maximum_length}"
            )
        wanted = self.train + self.validation + self.test
        possible = sum(map(len, NEEDLES.values())) * len(FILLERS) ** (self.maximum_length - 1)
        if wanted > possible // 2:  # beyond, drawing until a row is new takes ever longer
            raise ValueError(
                f"train + validation + test = {wanted} different rows are too many: sentences of at most"
                f" {self.maximum_length} words allow {possible // 2}"
            )

    def load(self) -> Mapping[str, list[Row]]:
        """Draws the rows of all splits."""
        rows = self._rows()
        sizes = {"val": self.validation, "test": self.test, "train": self.train}
        return {split: list(islice(rows, size)) for split, size in sizes.items()}

    def _rows(self) -> Iterator[Row]:
        generator, drawn = random.Random(self.seed), set[str]()
        while True:
            label = generator.choice(_LABELS)
            row = self._row(generator, label)
            if (key := str(row[0])) not in drawn:
                drawn.add(key)
                yield row

    def _sentence(self, generator: random.Random) -> list[str]:
        return generator.choices(FILLERS, k=generator.randint(self.minimum_length, self.maximum_length))

    @staticmethod
    def _hide(generator: random.Random, label: str, sentence: list[str]) -> int:
        """Puts a word that decides in the place of another one, and says where; -1: the label has none."""
        if label == NOTHING:
            return -1
        place = generator.randrange(len(sentence))
        sentence[place] = generator.choice(NEEDLES[label])
        return place

    @abstractmethod
    def _row(self, generator: random.Random, label: str) -> Row:
        """A row of that label."""


@dataclass(kw_only=True)
class Needle(_Needles):
    """One word of a text decides."""

    name: str = field(default="needle", init=False)
    columns: ClassVar[Mapping[str, Column]] = {
        "text": Text(),
        "label": Label(_LABELS),
        "place": Place(),
    }

    def _row(self, generator: random.Random, label: str) -> Row:
        words = self._sentence(generator)
        place = self._hide(generator, label, words)
        return " ".join(words), label, [place]


@dataclass(kw_only=True)
class NeedleDocuments(_Needles):
    """One sentence of a document decides, by one word in it. A full stop follows the words of each sentence.

    Attributes:
        sentences: of each document.
    """

    sentences: int
    name: str = field(default="needle_documents", init=False)
    columns: ClassVar[Mapping[str, Column]] = {
        "text": Sentences(),
        "label": Label(_LABELS),
        "place": Place(),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sentences < 1:
            raise ValueError(f"sentences must be at least 1, got {self.sentences}")

    def _row(self, generator: random.Random, label: str) -> Row:
        document = [self._sentence(generator) for _ in range(self.sentences)]
        sentence = generator.randrange(self.sentences)
        place = self._hide(generator, label, document[sentence])
        places = [-1, -1] if label == NOTHING else [sentence, place]
        return [" ".join([*words, "."]) for words in document], label, places
