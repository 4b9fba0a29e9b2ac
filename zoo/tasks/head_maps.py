"""The weights of all heads in one text."""

from typing import NamedTuple

from torch import Tensor


class HeadMaps(NamedTuple):
    """One kind of attention in one text.

    Attributes:
        weights: `(L, h, Q, K)` on the CPU, of L layers with h heads.
        queries: Q tokens, one for each row.
        keys: K tokens, one for each column; of a text that is being written those before, `<s>` first.
    """

    weights: Tensor
    queries: list[str]
    keys: list[str]
