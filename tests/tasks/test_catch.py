"""The game of Catch against one written for a single board, pixel by pixel."""

import pytest
import torch
from torch import Tensor

from zoo.tasks.tracking.batch import CatchBatch, CatchRules
from zoo.tasks.tracking.catch import Catch


def games(
    count: int, *, size: int, ball: int, balls: int, generator: torch.Generator | None = None
) -> CatchBatch:
    generator = generator or torch.Generator().manual_seed(1)

    def draw(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high + 1, (count, *shape), generator=generator)

    return CatchBatch(
        index=torch.arange(count),
        paddle=draw(0, size - 2 * ball),
        columns=draw(0, size - ball, balls),
        drifts=draw(-ball, ball, balls),
        names=[f"val {number}" for number in range(count)],
        rules=CatchRules(size, ball),
    )


class OneGame:
    """One board, one step at a time, bounces column by column."""

    def __init__(self, batch: CatchBatch, number: int) -> None:
        self.size, self.ball = batch.rules
        self.paddle = int(batch.paddle[number])
        self.coming = list(zip(batch.columns[number].tolist(), batch.drifts[number].tolist(), strict=True))
        self.next_ball()

    def next_ball(self) -> None:
        self.row = 0
        if self.coming:
            self.column, self.drift = self.coming.pop(0)

    def observe(self) -> list[list[float]]:
        board = [[0.0] * self.size for _ in range(self.size)]
        for y in range(self.ball):
            for x in range(self.ball):
                board[self.row + y][self.column + x] = 1.0
            for x in range(2 * self.ball):
                board[self.size - self.ball + y][self.paddle + x] = 1.0
        return board

    def act(self, action: int) -> float:
        for _ in range(self.ball):
            moved = self.paddle + {0: -1, 1: 0, 2: 1}[action]
            if moved >= 0 and moved + 2 * self.ball <= self.size:
                self.paddle = moved
        for _ in range(abs(self.drift)):
            direction = 1 if self.drift > 0 else -1
            if not 0 <= self.column + direction <= self.size - self.ball:
                self.drift = -self.drift
                direction = -direction
            self.column += direction
        self.row += self.ball
        if self.row + self.ball < self.size:
            return 0.0
        of_ball = set(range(self.column, self.column + self.ball))
        of_paddle = set(range(self.paddle, self.paddle + 2 * self.ball))
        self.next_ball()
        return float(bool(of_ball & of_paddle))


@pytest.mark.parametrize(
    ("size", "ball", "balls"), [(40, 2, 2), (24, 1, 1), (8, 1, 3), (12, 3, 2), (4, 2, 3), (2, 1, 2)]
)
def test_many_games_at_once_are_as_many_games(size: int, ball: int, balls: int) -> None:
    batch = games(50, size=size, ball=ball, balls=balls)
    together, apart = Catch(batch), [OneGame(batch, number) for number in range(50)]
    generator = torch.Generator().manual_seed(2)
    assert together.steps == balls * (size // ball - 1)
    caught = 0.0
    for _ in range(together.steps):
        boards = together.observe()
        assert boards.shape == (50, 1, size, size)
        assert boards.dtype == torch.float32
        assert boards[:, 0].tolist() == [game.observe() for game in apart]
        actions = torch.randint(3, (50,), generator=generator)
        rewards = together.act(actions)
        assert rewards.tolist() == [
            game.act(int(action)) for game, action in zip(apart, actions, strict=True)
        ]
        caught += float(rewards.sum())
    assert 0 < caught < 50 * balls or size == 2 * ball


def test_a_ball_can_be_reached_from_anywhere() -> None:
    """Who sees where it comes down and goes there at once is never late."""
    batch = games(500, size=40, ball=2, balls=1)
    drifting = Catch(batch)
    for _ in range(drifting.steps):
        drifting.act(torch.ones(500, dtype=torch.int64))
    goal, game = drifting.column, Catch(batch)
    for _ in range(game.steps):
        reward = game.act(((goal - 1 - game.paddle).sign() * ((goal - 1 - game.paddle).abs() > 1)) + 1)
    assert reward.mean() == 1


def test_one_ball_by_hand() -> None:
    """4 x 4 pixels, a ball that bounces off the right wall, a paddle that follows."""
    batch = CatchBatch(
        index=torch.tensor([0]),
        paddle=torch.tensor([0]),
        columns=torch.tensor([[2]]),
        drifts=torch.tensor([[1]]),
        names=["val 0"],
        rules=CatchRules(4, 1),
    )
    game = Catch(batch)
    boards, rewards = [], []
    for action in (2, 1, 0):
        boards.append(["".join(" o"[int(pixel)] for pixel in row) for row in game.observe()[0, 0]])
        rewards.append(game.act(torch.tensor([action])).item())
    assert boards == [
        ["  o ", "    ", "    ", "oo  "],
        ["    ", "   o", "    ", " oo "],
        ["    ", "    ", "  o ", " oo "],
    ]
    assert rewards == [0, 0, 1]
    with pytest.raises(ValueError, match="the games are over: they have 3 steps"):
        game.act(torch.tensor([1]))


def test_the_batch_is_left_as_it_is() -> None:
    batch = games(5, size=8, ball=1, balls=2)
    parts = (batch.paddle, batch.columns, batch.drifts)
    before = [part.clone() for part in parts]
    game = Catch(batch)
    for _ in range(game.steps):
        game.act(torch.zeros(5, dtype=torch.int64))
    assert all(
        torch.equal(*pair) for pair in zip(before, (batch.paddle, batch.columns, batch.drifts), strict=True)
    )
