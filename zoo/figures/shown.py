"""What a figure shows, as plain data: the page of a comparison draws it in its own size and colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

_DECIMALS = 3
_MOST_NUMBERS = 40_000
"""Of a figure: about 200 kB."""


@dataclass(frozen=True)
class Matrix:
    """Weights with their labels.

    Attributes:
        title: of this matrix among those of its figure; may be empty.
        axes: what rows and columns are.
        rows: labels.
        columns: labels.
        weights: `(rows, columns)` in [0, 1].
    """

    title: str
    axes: tuple[str, str]
    rows: list[str]
    columns: list[str]
    weights: list[list[float]]

    @property
    def numbers(self) -> int:
        """How many weights there are."""
        return len(self.rows) * len(self.columns)


@dataclass(frozen=True)
class ShownSentence:
    """A sentence whose words are shaded.

    Attributes:
        words: in order; one with a blank before it begins with a blank.
        shades: how dark each word is, from 0 to 1.
        weight: of the sentence in its document; None without attention over sentences.
    """

    words: list[str]
    shades: list[float]
    weight: float | None


@dataclass(frozen=True)
class ShownText:
    """A text whose words are shaded.

    Attributes:
        title: lines above it.
        sentences: of a text one.
    """

    title: str
    sentences: list[ShownSentence]

    @property
    def numbers(self) -> int:
        """How many weights there are."""
        return sum(len(one.words) for one in self.sentences)


Shown = Matrix | ShownText


class ShowingFigure(Figure):
    """A figure that knows what it shows, besides how that looks.

    Attributes:
        shown: matrices and texts; empty where the picture is all there is.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.shown: list[Shown] = []


def shown_in(figure: Figure) -> list[Shown]:
    """What a figure shows; nothing where it does not know it, or where that is too much for a page."""
    shown = figure.shown if isinstance(figure, ShowingFigure) else []
    return shown if sum(one.numbers for one in shown) <= _MOST_NUMBERS else []


def matrix(
    weights: ArrayLike, rows: Sequence[str], columns: Sequence[str], title: str, axes: tuple[str, str]
) -> Matrix:
    """The weights of arrays; see `Matrix`."""
    return Matrix(title, axes, list(rows), list(columns), rounded(weights))


def rounded(values: ArrayLike) -> Any:
    """Numbers as a page needs them: three decimal places, and 0 for what is no number."""
    return np.round(np.nan_to_num(np.asarray(values, np.float64)), _DECIMALS).tolist()
