"""The answer of the task."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from zoo.core.short_repr import short_repr


class Translation(NamedTuple):
    """One translation of one sentence.

    Attributes:
        text: detokenised.
        score: what the search ranked by.
        finished: False where the length limit cut it off.
        source_tokens: K tokens, `</s>` last.
        tokens: T target tokens, `</s>` last where it is finished.
        weights: `(T, K)` attention weights on the CPU, row t of the step that wrote token t; None without
            attention, or where they were not asked for.
        unread: how many tokens at the source's end the model did not read, because it is too long.
        ids: those of `tokens`.
    """

    text: str
    score: float
    finished: bool
    source_tokens: list[str]
    tokens: list[str]
    weights: Tensor | None
    unread: int = 0
    ids: Sequence[int] = ()

    def __repr__(self) -> str:
        return short_repr(self)
