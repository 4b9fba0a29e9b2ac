"""Toys whose alignment is known: copy or reverse a row of symbols."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from string import ascii_lowercase
from typing import TYPE_CHECKING

from data.text.corpus import GeneratedCorpus, PairCorpus

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(kw_only=True)
class _Toy(GeneratedCorpus, PairCorpus):
    """Rows of random symbols between blanks; no row stands twice, within or across splits.

    Attributes:
        symbols: how many different ones.
        minimum_length: shortest row, in symbols.
        maximum_length: longest row, in symbols.
    """

    aligned = True
    symbols: int
    minimum_length: int
    maximum_length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.symbols <= len(ascii_lowercase):
            raise ValueError(f"symbols must be 1 to {len(ascii_lowercase)}, got {self.symbols}")
        if not 1 <= self.minimum_length <= self.maximum_length:
            raise ValueError(
                "minimum_length must be at least 1 and at most maximum_length,"
                f" got {self.minimum_length} and {self.maximum_length}"
            )
        wanted = self.train + self.validation + self.test
        possible = 0
        for length in range(self.minimum_length, self.maximum_length + 1):
            possible += self.symbols**length
            if wanted <= possible // 2:
                break
        else:  # beyond, drawing until a row is new takes ever longer
            raise ValueError(
                f"train + validation + test = {wanted} different rows are too many: {self.symbols} symbols"
                f" and lengths {self.minimum_length} to {self.maximum_length} allow {possible // 2}"
            )

    def load(self) -> dict[str, Dataset]:
        """Draws the rows of all splits."""
        rows = self._rows()
        return {
            split: self._pairs(list(islice(rows, count)))
            for split, count in (("val", self.validation), ("test", self.test), ("train", self.train))
        }

    def _rows(self) -> Iterator[str]:
        generator, drawn = random.Random(self.seed), set[str]()
        while True:
            length = generator.randint(self.minimum_length, self.maximum_length)
            row = "".join(generator.choices(ascii_lowercase[: self.symbols], k=length))
            if row not in drawn:
                drawn.add(row)
                yield row

    def _pairs(self, rows: list[str]) -> Dataset:
        from datasets import Dataset  # here, because it takes long

        orders = [self._order(len(row)) for row in rows]
        return Dataset.from_dict(
            {
                "source": [" ".join(row) for row in rows],
                "target": [" ".join(row[i] for i in order) for row, order in zip(rows, orders, strict=True)],
                "alignment": [[*order, len(order)] for order in orders],  # EOS comes from EOS
            }
        )

    @abstractmethod
    def _order(self, length: int) -> list[int]:
        """The source position of each target symbol."""


@dataclass(kw_only=True)
class Copy(_Toy):
    """The target is the source."""

    name: str = field(default="copy", init=False)

    def _order(self, length: int) -> list[int]:
        return list(range(length))


@dataclass(kw_only=True)
class Reverse(_Toy):
    """The target is the source from its end to its beginning."""

    name: str = field(default="reverse", init=False)

    def _order(self, length: int) -> list[int]:
        return list(range(length))[::-1]
