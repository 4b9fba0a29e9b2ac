"""Games of Catch, as they begin: made on the spot, with nothing to download."""

import hashlib

import numpy as np
import torch
from torch.utils.data import Dataset

from data.core.batching import Layout, Part, ShuffledBatches
from data.core.data_module import DataModule, check_same_data, require_at_least
from data.core.keyed_random import Draws, keys, split_key
from data.images.image_set import numbered
from zoo.core.spec import DataSpec, FieldSpec, ImageSpec, LabelSpec
from zoo.tasks.tracking.batch import CATCH_ACTIONS, CatchBatch, CatchRules


class CatchData(DataModule):
    """Games in batches: where paddle and balls begin, and how the balls drift.

    A training game is a function of seed, epoch and index alone, whatever the batch, worker or process that
    makes it; one of another split of its index alone: every run, whatever its seed, plays the same ones.

    After `setup`:

    Attributes:
        spec: what a task must know of the data; the labels are the actions.
        test_splits: `test`.
        report: for each split the number of `games`.
    """

    batch_type = CatchBatch

    def __init__(
        self,
        *,
        size: int,
        ball: int,
        balls: int,
        train_games: int,
        validation_games: int,
        test_games: int,
        batch_size: int,
        seed: int,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Makes nothing yet.

        Args:
            size: pixels along each side of the board.
            ball: pixels along each side of the ball; see `zoo.tasks.tracking.catch`, also for the paddle.
            balls: in a game, one after the other.
            train_games: in an epoch.
            validation_games: the same in every validation.
            test_games: the same in every run.
            batch_size: games in a batch, in each process; the last batch of an epoch may have fewer.
            seed: of training games and of their order.
            num_workers: see `DataModule`.
            worker_timeout: see there.
            spec: the specification in a checkpoint, with which the data must agree.

        Raises:
            ValueError: a number is too small, or the ball does not come to lie in the last rows of the board.
        """
        super().__init__(seed=seed, num_workers=num_workers, worker_timeout=worker_timeout)
        require_at_least(
            ("ball", ball, 1),
            ("size", size, 2 * ball),
            ("balls", balls, 1),
            ("train_games", train_games, 1),
            ("validation_games", validation_games, 1),
            ("test_games", test_games, 1),
            ("batch_size", batch_size, 1),
        )
        if size % ball:
            raise ValueError(f"size must be a multiple of ball={ball}, got {size}")
        self.rules, self.balls, self.batch_size = CatchRules(size, ball), balls, batch_size
        self._games = {"train": train_games, "val": validation_games, "test": test_games}
        self._given = spec

    def placeholder(self) -> dict[str, FieldSpec]:
        """The boards, and the actions."""
        size = self.rules.size
        return {"image": ImageSpec(1, height=size, width=size), "label": LabelSpec(CATCH_ACTIONS)}

    def setup(self, stage: str | None = None) -> None:
        """Plans the splits.

        Raises:
            ValueError: the games are not those of the given specification.
        """
        if self._spec is not None:
            return
        splits = {
            split: Games(numbered(split, count), self.rules, self.balls, key=split_key(split, self.seed))
            for split, count in self._games.items()
        }
        spec = DataSpec(
            name="catch",
            fields=self.placeholder(),
            test_hash=splits["test"].content_hash(),
            vocabulary_hash=hashlib.sha256(repr(CATCH_ACTIONS).encode()).hexdigest(),
        )
        if self._given is not None:
            check_same_data(self._given, spec)
        self.report = {split: {"games": count} for split, count in self._games.items()}
        self._splits = dict(splits)
        self._spec = spec

    def _batches(self, split: str, seed: int | None, layout: Layout) -> ShuffledBatches:
        return ShuffledBatches(self._games[split], self.batch_size, seed=seed, layout=layout)


class Games(Dataset[CatchBatch]):
    """The games of one split; indexed by `Part`, it makes whole batches."""

    def __init__(self, names: np.ndarray, rules: CatchRules, balls: int, *, key: tuple[int, int]) -> None:
        """Makes nothing yet.

        Args:
            names: `(N,)` of the games.
            rules: of all games.
            balls: in each game.
            key: begins the keys of the random numbers.
        """
        self._names, self._rules, self._balls, self._key = names, rules, balls, key

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, chosen: Part) -> CatchBatch:
        size, ball = self._rules
        draws = Draws(keys(*self._key, chosen.epoch, chosen.rows))
        paddle = draws.below(size - 2 * ball + 1)
        # (B, balls, 2): the column of each ball, and its drift
        begins = np.stack([draws.below(bound) for bound in (size - ball + 1, 2 * ball + 1) * self._balls], -1)
        columns, drifts = np.moveaxis(begins.reshape(-1, self._balls, 2), -1, 0)
        return CatchBatch(
            index=torch.from_numpy(chosen.rows),
            paddle=torch.from_numpy(paddle),
            columns=torch.from_numpy(columns),
            drifts=torch.from_numpy(drifts - ball),
            names=self._names[chosen.rows].tolist(),
            rules=self._rules,
            loss_weight=chosen.loss_weight,
        )

    def content_hash(self) -> str:
        """sha256 over the rules and all games of epoch 0, in order."""
        games = self[Part(0, np.arange(len(self)))]
        digest = hashlib.sha256(repr((*self._rules, self._balls)).encode())
        for begins in (games.paddle, games.columns, games.drifts):
            digest.update(begins.numpy().astype("<i8").tobytes())
        return digest.hexdigest()
