"""Catch: a ball falls and bounces, and a paddle at the bottom catches it (Mnih et al. 2014, section 4.2)."""

import torch
from torch import Tensor

from zoo.tasks.tracking.batch import CatchBatch, CatchRules


def new_game(rules: CatchRules, balls: int, seed: int) -> CatchBatch:
    """A random game with a number of balls, one after the other; all games are equally likely."""
    generator = torch.Generator().manual_seed(seed)

    def below(bound: int, number: int) -> Tensor:
        return torch.randint(bound, (1, number), generator=generator)

    size, ball = rules
    return CatchBatch(
        index=torch.tensor([seed]),
        paddle=below(size - 2 * ball + 1, 1)[:, 0],
        columns=below(size - ball + 1, balls),
        drifts=below(2 * ball + 1, balls) - ball,
        names=[f"game {seed}"],
        rules=rules,
    )


class Catch:
    """Many games at once, each on a board of its own.

    In a step a ball of b x b pixels falls b rows, and a paddle of 2b columns and b rows at the bottom moves b
    columns or none; the paddle moves first. A ball drifts sideways at its own speed and bounces off the
    walls. It is caught if it shares a column with the paddle when it reaches the paddle's rows. The next
    ball begins at the top at once. The paper's game is `size=24`, `ball=1` and one ball.

    Attributes:
        steps: the length of a game.
        paddle: `(N,)`, the column of each paddle's left edge.
        row, column, drift: of the balls; the row is one number, the others are `(N,)`.

    Args:
        batch: how N games of n balls begin.
    """

    def __init__(self, batch: CatchBatch) -> None:
        self.size, self.ball = batch.rules
        self._balls = list(zip(batch.columns.unbind(1), batch.drifts.unbind(1), strict=True))
        self.paddle = batch.paddle
        self.steps = len(self._balls) * (self.size // self.ball - 1)
        self._number = 0
        self._pixels = torch.arange(self.size, device=batch.paddle.device)
        self._begin_ball()

    def _begin_ball(self) -> None:
        self.row = 0
        self.column, self.drift = self._balls[self._number]

    def observe(self) -> Tensor:
        """The boards with ball and paddle, `(N, 1, size, size)` in {0, 1}, in torch's default dtype."""
        falling = self._covers(self.row)[:, None] & self._covers(self.column, self.ball)[:, None]
        bottom, paddle = self._covers(self.size - self.ball), self._covers(self.paddle, 2 * self.ball)
        board = falling | bottom[:, None] & paddle[:, None]
        return board[:, None].to(torch.get_default_dtype())

    def _covers(self, first: int | Tensor, width: int | None = None) -> Tensor:
        """Which pixels of an axis the `width` (else b) from `first` on cover, `(size,)` or `(N, size)`."""
        first = first[:, None] if isinstance(first, Tensor) else first
        return (self._pixels >= first) & (self._pixels < first + (width or self.ball))

    def act(self, actions: Tensor) -> Tensor:
        """Moves the paddles, then the balls.

        Args:
            actions: `(N,)` int64, numbers of `CATCH_ACTIONS`.

        Returns:
            The rewards, `(N,)` float32: 1 where a ball was caught in this step.

        Raises:
            ValueError: the games are over.
        """
        if self._number == len(self._balls):
            raise ValueError(f"the games are over: they have {self.steps} steps")
        self.paddle = (self.paddle + (actions - 1) * self.ball).clamp(0, self.size - 2 * self.ball)
        self.row += self.ball
        self._drift()
        if self.row + self.ball < self.size:
            return torch.zeros_like(self.paddle, dtype=torch.float32)
        caught = (self.column + self.ball > self.paddle) & (self.column < self.paddle + 2 * self.ball)
        self._number += 1
        if self._number < len(self._balls):
            self._begin_ball()
        return caught.float()

    def _drift(self) -> None:
        """Moves the balls sideways, reflected by the walls."""
        last = self.size - self.ball
        there = self.column + self.drift
        within = last - (last - there.abs()).abs()  # beyond a wall as far as it went behind it
        self.drift = torch.where(within == there, self.drift, -self.drift)
        self.column = within
