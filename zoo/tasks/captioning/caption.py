"""What the task answers."""

from typing import NamedTuple

from torch import Tensor


class Caption(NamedTuple):
    """One caption of one image.

    Attributes:
        text: the words.
        score: what the search ranked by.
        finished: False when the length limit cut it off.
        tokens: T tokens, `</s>` last when finished.
        weights: `(T, h, w)` attention weights on the CPU, map t read while token t was being written; None
            without attention.
    """

    text: str
    score: float
    finished: bool
    tokens: list[str]
    weights: Tensor | None
