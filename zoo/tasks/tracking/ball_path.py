"""The path of glimpses while one ball of a game falls."""

from typing import NamedTuple

from torch import Tensor


class BallPath(NamedTuple):
    """Where an agent looked in T steps while a ball fell, and what it saw there.

    Attributes:
        image: `(C, H, W)` in [0, 1], all T boards in one, brighter from the first to the last.
        locations: `(T, 2)`, (x, y) of each glimpse, in [-1, 1].
        glimpses: `(T, k, C, g, g)` in [0, 1].
        caught: whether the ball was caught.
    """

    image: Tensor
    locations: Tensor
    glimpses: Tensor
    caught: bool
