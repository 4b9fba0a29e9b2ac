"""Toy pairs whose alignment is known: does the text hold the counterpart of the question's letter?"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from data.text.columns import Alignment, Column, Label, Text
from data.text.corpus import GeneratedCorpus

_LETTERS, _DIGITS, _FILLERS = "abcdefghij", "0123456789", "klmnopqrst"


@dataclass(kw_only=True)
class Counterparts(GeneratedCorpus):
    """A question with one of ten letters, and a text with three of ten digits, among words that say nothing.

    Each letter has its own digit, a has 0, and so on to j and 9. The answer is `yes` where the text holds the
    digit of the question's letter, in half of the pairs. No two words of the pair that belong together are
    the same, and those that are the same say nothing. No pair stands twice, within or across splits.
    """

    name: str = field(default="counterparts", init=False)

    @property
    def columns(self) -> dict[str, Column]:
        """Question, text, answer, and where in the text the letter's digit stands."""
        return {
            "left": Text(),
            "right": Text(),
            "label": Label(("no", "yes")),
            "alignment": Alignment(source="right", target="left"),
        }

    def load(self) -> dict[str, list[tuple[str, str, str, list[int]]]]:
        """Draws the pairs of all splits."""
        rows = self._rows()
        counts = (("val", self.validation), ("test", self.test), ("train", self.train))
        return {split: list(islice(rows, count)) for split, count in counts}

    def _rows(self) -> Iterator[tuple[str, str, str, list[int]]]:
        generator, drawn = random.Random(self.seed), set[tuple[str, str]]()
        while True:
            wanted, answer = generator.randrange(10), generator.random() < 0.5
            others = generator.sample([number for number in range(10) if number != wanted], 3)
            if answer:
                others[0] = wanted
            left = _mixed(generator, _LETTERS[wanted], generator.randint(1, 4))
            right = _mixed(generator, "".join(_DIGITS[number] for number in others), generator.randint(3, 8))
            if (left, right) in drawn:
                continue
            drawn.add((left, right))
            places = [-1] * (len(left.split()) + 1)  # EOS belongs to nothing
            if answer:
                places[left.split().index(_LETTERS[wanted])] = right.split().index(_DIGITS[wanted])
            yield left, right, "yes" if answer else "no", places


def _mixed(generator: random.Random, words: str, fillers: int) -> str:
    """The words, and so many that say nothing, in any order."""
    row = [*words, *generator.choices(_FILLERS, k=fillers)]
    generator.shuffle(row)
    return " ".join(row)
