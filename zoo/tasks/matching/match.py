"""The answer of the task."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from zoo.core.short_repr import short_repr
from zoo.tasks.matching.maps import PairMap

WHOLE = "(whole text)"
"""Stands at a row that belongs to no word of the left text, but to all of it."""


class DrawnMap(NamedTuple):
    """One matrix over the words of a pair.

    Attributes:
        weights: `(R, K)` on the CPU, in [0, 1].
        tokens: R labels of rows: the left text's words, or one for the whole.
        source_tokens: K labels of columns: the right text's words.
        what: what it shows.
    """

    weights: Tensor
    tokens: Sequence[str]
    source_tokens: Sequence[str]
    what: str

    @staticmethod
    def of(pair_map: PairMap, row: int, left: Sequence[str], right: Sequence[str]) -> "DrawnMap":
        """The matrix of one pair of a batch; scores are moved and scaled until they fill [0, 1].

        Args:
            pair_map: of a batch.
            row: the pair.
            left: its words.
            right: likewise.
        """
        rows = left if pair_map.of_words else [WHOLE]
        weights = pair_map.weights[row, : len(rows), : len(right)].cpu()
        if pair_map.of_scores:
            lowest, highest = weights.min(), weights.max()
            weights = (weights - lowest) / (highest - lowest).clamp_min(1e-12)
        return DrawnMap(weights, rows, right, pair_map.what)


class Match(NamedTuple):
    """How two texts stand to each other.

    Attributes:
        label: the class, or the degree as a text.
        probability: of the class; None of a degree.
        degree: None of a class.
        maps: what the model looked at; empty without attention, or where it was not asked for.
        unread: how many tokens at the ends of texts the model did not read, because they are too long.
    """

    label: str
    probability: float | None
    degree: float | None
    maps: Sequence[DrawnMap] = ()
    unread: int = 0

    def __repr__(self) -> str:
        return short_repr(self)
