"""The path of glimpses over one image."""

from typing import NamedTuple

from torch import Tensor


class GlimpsePath(NamedTuple):
    """Where an agent looked in T steps, what it saw there, and which class it chose.

    Attributes:
        image: `(C, H, W)` in [0, 1].
        locations: `(T, 2)`, (x, y) of each glimpse, in [-1, 1].
        glimpses: `(T, k, C, g, g)` in [0, 1].
        label: the true class; None where it is not known.
        prediction: the chosen class.
        probability: what the agent gives the chosen class.
    """

    image: Tensor
    locations: Tensor
    glimpses: Tensor
    label: str | None
    prediction: str
    probability: float
