"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor

CATCH_ACTIONS = ("left", "stay", "right")
"""The actions of Catch, in the order of their numbers."""


class CatchRules(NamedTuple):
    """The sizes of a game of Catch.

    Attributes:
        size: pixels along each side of the board.
        ball: pixels along each side of the ball, a divisor of `size`; the paddle is twice as wide.
    """

    size: int
    ball: int


class CatchBatch(NamedTuple):
    """Games of Catch, as they begin; see `zoo.tasks.tracking.catch`.

    Attributes:
        index: `(B,)` int64, each game's number in its split.
        paddle: `(B,)` int64, the first column of the paddle's left edge.
        columns: `(B, n)` int64, the first column of the left edge of each of n balls.
        drifts: `(B, n)` int64, the columns that each ball moves to the right in a step.
        names: each game's name: the split and its number.
        rules: of all games.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    paddle: Tensor
    columns: Tensor
    drifts: Tensor
    names: list[str]
    rules: CatchRules
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "games of Catch"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in."""
        return {"games": len(self.index)}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        games, balls = self.columns.shape
        return f"{games} games of {balls} balls on {self.rules.size} x {self.rules.size}"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_size", "model.hidden_size")
