"""Sheets of games: when they are drawn, and of which games."""

from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch

from data.games.catch import CatchData
from zoo.attention import LearnedBaseline, LearnedPolicy, RandomPolicy
from zoo.networks.ram import RecurrentAttentionModel
from zoo.networks.recurrent import LSTM
from zoo.tasks.tracking import game_figures as module
from zoo.tasks.tracking.ball_path import BallPath
from zoo.tasks.tracking.game_figures import GameFigures
from zoo.tasks.tracking.task import TrackingTask


def fit(tmp_path: Path, callback: GameFigures, policy: Any = None, **how: Any) -> TrackingTask:
    """Four epochs of a step, a validation behind each, then a test."""
    torch.manual_seed(0)
    games = {"train_games": 4, "validation_games": 5, "test_games": 6}
    data = CatchData(size=6, ball=2, balls=2, batch_size=4, seed=1, **games)
    data.setup()
    sizes = {"glimpses": 1, "glimpse_size": 3, "scales": 1, "glimpse_hidden_size": 4, "hidden_size": 4}
    network = RecurrentAttentionModel(
        spec=data.spec, policy=policy or partial(LearnedPolicy, std=0.1), recurrent=LSTM, **sizes
    )
    task = TrackingTask(
        network=network,
        spec=data.spec,
        optimizer=partial(torch.optim.SGD, lr=0.1),
        scheduler=None,
        reinforce={"baseline": LearnedBaseline, "weight": 1.0, "discount": 0.9},
        entropy_weight=0.0,
        monitor="val/catch_rate",
    )
    trainer = pl.Trainer(
        max_epochs=4,
        accelerator="cpu",
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        default_root_dir=tmp_path,
        **how,
    )
    trainer.fit(task, datamodule=data)
    trainer.test(task, datamodule=data, verbose=False)
    return task


def test_a_sheet_and_a_histogram_at_every_second_validation_and_at_test(tmp_path: Path, watch: Any) -> None:
    seen = watch(module, "game_sheet")
    fit(tmp_path, GameFigures(folder=tmp_path, games=2, every_n_validations=2))
    whens = ("step0000002", "step0000004", "test")
    names = sorted(f"{name}_{when}.png" for when in whens for name in ("games", "locations"))
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == names
    drawn = [(title, {name: len(falls) for name, falls in games.items()}) for games, title in seen]
    assert drawn == [
        ("step0000002", {"val 0": 2, "val 1": 2}),
        ("step0000004", {"val 0": 2, "val 1": 2}),
        ("test", {"test 0": 2, "test 1": 2}),
    ]


@pytest.mark.parametrize(
    ("policy", "precision"), [(partial(LearnedPolicy, std=0.1), "bf16-mixed"), (RandomPolicy, "64-true")]
)
def test_drawn_paths_equal_the_tested_ones(tmp_path: Path, watch: Any, policy: Any, precision: str) -> None:
    """In the same precision, and at the same places of what looks anywhere."""
    drawn = watch(module, "game_sheet")
    task = fit(tmp_path, GameFigures(folder=tmp_path, games=6), policy, precision=precision)
    games: dict[str, list[BallPath]] = drawn[-1][0]
    for falls, item in zip(games.values(), task.predictions["test"], strict=True):
        assert sum(fall.caught for fall in falls) == int(item["prediction"])
        places = [place for fall in falls for place in fall.locations.tolist()]
        assert np.ravel(places).tolist() == pytest.approx(np.ravel(item["locations"]).tolist(), abs=1e-6)
