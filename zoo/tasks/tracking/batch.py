"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor

CATCH_ACTIONS = ("left", "stay", "right")
"""What the paddle of Catch can do, in the order of their numbers."""


class CatchRules(NamedTuple):
    """What a game of Catch is played on and with.

    Attributes:
        size: pixels along each side of the board.
        ball: pixels along each side of the ball, a divisor of `size`; the paddle is twice as wide.
    """

    size: int
    ball: int


class CatchBatch(NamedTuple):
    """Games of Catch, as they begin; see `zoo.tasks.tracking.catch`.

    Attributes:
        index: `(B,)` int64, each game's number in its split (predictions are stored by it).
        paddle: `(B,)` int64, the column where the paddle begins, its left edge.
        columns: `(B, n)` int64, the column where each of n balls begins, its left edge.
        drifts: `(B, n)` int64, columns that each moves in a step, to the right where above 0.
        names: what to call each game: the split and its number.
        rules: of all games.
        loss_weight: multiplies its loss where it is part of a larger batch, see `data.core.batching`.
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
        """What it holds in words, for messages."""
        return "games of Catch"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What to measure speed by."""
        return {"games": len(self.index)}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        games, balls = self.columns.shape
        return f"{games} games of {balls} balls on {self.rules.size} x {self.rules.size}"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that decide how much memory it takes, that of its size first."""
        return ("data.batch_size", "model.hidden_size")
