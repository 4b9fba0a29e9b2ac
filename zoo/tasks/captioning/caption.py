"""The answer of the task."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from zoo.core.short_repr import short_repr


class Caption(NamedTuple):
    """One caption of one image.

    Attributes:
        text: the words.
        score: what the search ranked by.
        finished: False where the length limit cut it off.
        tokens: T tokens, `</s>` last where it is finished.
        weights: `(T, h, w)` attention weights on the CPU, map t of the step that wrote token t; None without
            attention.
        ids: those of `tokens`.
    """

    text: str
    score: float
    finished: bool
    tokens: list[str]
    weights: Tensor | None
    ids: Sequence[int] = ()

    def __repr__(self) -> str:
        return short_repr(self)
