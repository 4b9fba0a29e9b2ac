"""A sequence and its answer."""

from typing import NamedTuple

from torch import Tensor

from zoo.core.short_repr import short_repr


class Answered(NamedTuple):
    """What a model answered to one sequence of T steps, on the CPU.

    Attributes:
        inputs: `(T, C)`.
        targets: `(T, O)`, 0 where no answer counts.
        probabilities: `(T, O)` of a 1, 0 where no answer counts.
        scored: `(T,)` boolean.
        read_weights: `(T, R, N)`; None of a model that attends to nothing.
        write_weights: `(T, W, N)`, likewise.
        over_steps: whether the N are the T steps, or places of a memory.
    """

    inputs: Tensor
    targets: Tensor
    probabilities: Tensor
    scored: Tensor
    read_weights: Tensor | None = None
    write_weights: Tensor | None = None
    over_steps: bool = False

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def wrong(self) -> int:
        """How many bits are wrong."""
        return int(((self.probabilities > 0.5) != (self.targets > 0.5))[self.scored].sum())

    @property
    def bits(self) -> int:
        """How many bits there are to answer."""
        return int(self.scored.sum()) * self.targets.shape[1]
