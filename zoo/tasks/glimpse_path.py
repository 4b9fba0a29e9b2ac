"""What an agent did with one image, or with one ball of a game."""

from typing import NamedTuple

from torch import Tensor


class GlimpsePath(NamedTuple):
    """Where an agent looked in one image, what it saw there, and what it took the image for.

    Attributes:
        image: `(C, H, W)` in [0, 1].
        locations: `(T, 2)`, (x, y) of each look, in [-1, 1].
        glimpses: `(T, k, C, g, g)`, what the sensor saw there, in [0, 1].
        label: the truth; None where nobody knows it.
        prediction: the class that the agent chose.
        probability: that it gave to this class.
    """

    image: Tensor
    locations: Tensor
    glimpses: Tensor
    label: str | None
    prediction: str
    probability: float


class BallPath(NamedTuple):
    """Where an agent looked while a ball fell, and what it saw there.

    Attributes:
        image: `(C, H, W)` in [0, 1]: the boards of all T moments in one, brighter from the first to the last.
        locations: `(T, 2)`, (x, y) of each look, in [-1, 1].
        glimpses: `(T, k, C, g, g)`, what the sensor saw there, in [0, 1].
        caught: whether the ball was.
    """

    image: Tensor
    locations: Tensor
    glimpses: Tensor
    caught: bool
