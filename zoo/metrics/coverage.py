"""Whether what must not be translated arrives: numbers and names."""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

import torch
from torch import Tensor
from torchmetrics import Metric

from zoo.metrics.text import References, check_references

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_ENDS_SENTENCE = re.compile(r"[.!?…:]")


class Coverage(Metric):
    """Of the items of the source that a reference has too, the share that the prediction has.

    Items that the reference lacks (a number written out, a name translated) do not count. An item that is
    there several times counts as often as both source and reference have it, and repeating it more often
    earns nothing. Items and hits are summed over the corpus: a sentence weighs as much as it has items.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    hits: Tensor
    items: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("hits", torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("items", torch.tensor(0), dist_reduce_fx="sum")
        self._asked_for = 0

    def update(self, predictions: Sequence[str], references: References, sources: Sequence[str]) -> None:
        """Adds sentences.

        Args:
            predictions: detokenised text.
            references: for each prediction its raw references; an item of any of them is asked for.
            sources: what was translated, raw.

        Raises:
            ValueError: the counts differ, or a prediction has no reference.
            TypeError: references are strings instead of lists of strings.
        """
        check_references(predictions, references)
        if len(sources) != len(predictions):
            raise ValueError(f"{len(sources)} sources but {len(predictions)} predictions")
        for prediction, alternatives, source in zip(predictions, references, sources, strict=True):
            asked = Counter(self._asked(source))
            if asked:
                asked &= reduce(or_, (Counter(self._found(text)) for text in alternatives))
                self.items += asked.total()
                self.hits += (asked & Counter(self._found(prediction))).total()

    def compute(self) -> Tensor:
        """The share, 0 to 1; NaN when there was nothing to cover."""
        self._asked_for = int(self.items)
        return self.hits / self.items

    @property
    def signature(self) -> str:
        """Of how many items the latest share is; a `reset` keeps it."""
        return f"items:{self._asked_for}"

    @abstractmethod
    def _asked(self, source: str) -> Iterable[str]:
        """The items of a source."""

    @abstractmethod
    def _found(self, target: str) -> Iterable[str]:
        """Everything in a reference or a prediction that could be an item."""


class NumberCoverage(Coverage):
    """Coverage of numbers: runs of digits, with points or commas between digits (`12`, `3.5`, `1,000`).

    They are compared as they are written, so 3.5 that becomes 3,5 in the reference's language is not asked
    for, and a date in digits is as many numbers as its signs leave (`2021-03-03` is 2021, 03 and 03).
    """

    def _asked(self, source: str) -> Iterable[str]:
        return _NUMBER.findall(source)

    def _found(self, target: str) -> Iterable[str]:
        return _NUMBER.findall(target)


class NameCoverage(Coverage):
    """Coverage of names: words with a capital, inside a sentence of the source, that the reference has, too.

    A rule of thumb for any language with capitals, which knows no names: it misses those that begin a
    sentence or follow an abbreviation's point, and those that are inflected or spelled in another way; it
    takes for names all other words that both languages write alike with a capital (titles, months, and of a
    German source every noun that the target has borrowed). Text in scripts without capitals has none.
    """

    def _asked(self, source: str) -> Iterable[str]:
        end = 0
        for word in _WORD.finditer(source):
            inside = end > 0 and not _ENDS_SENTENCE.search(source, end, word.start())
            if inside and word[0][0].isupper():
                yield word[0]
            end = word.end()

    def _found(self, target: str) -> Iterable[str]:
        return _WORD.findall(target)


def coverage_metrics() -> dict[str, Metric]:
    """The metrics of coverage, by the names they are logged under."""
    return {"number_coverage": NumberCoverage(), "name_coverage": NameCoverage()}
