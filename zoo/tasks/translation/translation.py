"""What the task answers."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor


class Translation(NamedTuple):
    """One translation of one sentence.

    Attributes:
        text: detokenised.
        score: what the search ranked by.
        finished: False when the length limit cut it off.
        source_tokens: `K` tokens, `</s>` last.
        tokens: `T` target tokens, `</s>` last when finished.
        weights: `(T, K)` attention weights on the CPU, row t read while token t was being written; None
            without attention, or when they were not asked for.
        unread: tokens at the source's end that were left out, being more than the model reads.
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


class HeadMaps(NamedTuple):
    """What all heads attended to in one sentence, in one kind of attention.

    Attributes:
        weights: `(L, h, Q, K)` on the CPU: layers, heads, rows that read, columns that are read.
        queries: Q tokens, each target token in the step that wrote it.
        keys: K tokens; of the target those that are read, `<s>` first.
    """

    weights: Tensor
    queries: list[str]
    keys: list[str]
