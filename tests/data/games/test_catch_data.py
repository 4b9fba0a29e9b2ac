"""The data module of games."""

from pathlib import Path
from typing import Any

import pytest
import torch
from through_loaders import assert_every_item_once, shared, trained_on
from torch import Tensor

from data.games.catch import CatchData
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.tasks.tracking.batch import CatchBatch, CatchRules

GAMES = {"train": 103, "val": 20, "test": 33}


def module(**options: Any) -> CatchData:
    settings = {"size": 12, "ball": 2, "balls": 3, "batch_size": 10, "seed": 1}
    counts = {"train_games": 103, "validation_games": 20, "test_games": 33}
    return CatchData(**{**settings, **counts, **options})


def ready(**options: Any) -> CatchData:
    made = module(**options)
    made.prepare_data()
    made.setup("fit")
    made.setup("test")
    return made


def epochs(data: CatchData, count: int = 1) -> list[CatchBatch]:
    loader = data.train_dataloader()
    seen = []
    for epoch in range(count):
        loader.batches.set_epoch(epoch)
        seen += list(loader)
    return seen


def begins(batches: list[CatchBatch]) -> Tensor:
    """How all games of an epoch begin, `(N, 1 + 2 n)`, in the order of the split."""
    rows = [torch.cat([batch.paddle[:, None], batch.columns, batch.drifts], 1) for batch in batches]
    return torch.cat(rows)[torch.cat([batch.index for batch in batches]).argsort()]


def test_games_begin_on_the_board() -> None:
    data = ready(train_games=3000, batch_size=1000)
    (batch, *_) = epochs(data)
    assert batch.rules == CatchRules(12, 2)
    assert (batch.paddle.shape, batch.columns.shape, batch.drifts.shape) == ((1000,), (1000, 3), (1000, 3))
    assert sorted(set(batch.paddle.tolist())) == list(range(9))  # 4 wide
    for number in range(3):
        assert sorted(set(batch.columns[:, number].tolist())) == list(range(11))
        assert sorted(set(batch.drifts[:, number].tolist())) == [-2, -1, 0, 1, 2]
    assert batch.names == [f"train {number}" for number in batch.index.tolist()]
    assert batch.throughput_counts == {"games": 1000}
    assert {part.dtype for part in batch[:4]} == {torch.int64}


@pytest.mark.parametrize("workers", [0, 1])
def test_every_game_once(workers: int) -> None:
    assert_every_item_once(ready(num_workers=workers), list(GAMES.values()))


@pytest.mark.parametrize("replicas", [2, 3])
def test_processes_share_every_split_and_play_the_same_games(replicas: int) -> None:
    train, *_ = shared(ready, replicas, list(GAMES.values()))
    assert torch.equal(begins(train), begins(epochs(ready())))


def test_training_games_are_new_in_every_epoch_others_the_same_in_every_run() -> None:
    batches = epochs(ready(), 2)
    half = len(batches) // 2
    first, second = begins(batches[:half]), begins(batches[half:])
    assert (first != second).any(1).all()
    assert torch.equal(begins(epochs(ready(batch_size=7, num_workers=1))), first)
    assert not torch.equal(begins(epochs(ready(seed=2))), first)
    for number in (0, 1):
        one, other = (
            (data.val_dataloader(), data.test_dataloader()[0])[number]
            for data in (ready(), ready(seed=2, batch_size=7))
        )
        assert torch.equal(begins(list(one)), begins(list(other)))
        one.batches.set_epoch(5)
        assert torch.equal(begins(list(one)), begins(list(other)))
    val, test = (list(loader) for loader in (ready().val_dataloader(), ready().test_dataloader()[0]))
    assert not torch.equal(begins(val), begins(test)[:20])


def test_the_specification_says_what_an_agent_sees_and_does() -> None:
    data = ready()
    spec = data.spec
    assert spec.name == "catch"
    assert spec.fields == {"image": ImageSpec(1, 12, 12), "label": LabelSpec(("left", "stay", "right"))}
    assert DataSpec.from_dict(spec.to_dict()) == spec
    assert data.report == {split: {"games": count} for split, count in GAMES.items()}
    assert data.test_splits == ["test"]
    assert ready(seed=7, batch_size=3, train_games=5).spec == spec
    others = [ready(size=14), ready(ball=1), ready(balls=2), ready(test_games=34)]
    assert len({spec.test_hash, *(other.spec.test_hash for other in others)}) == 5
    assert ready(spec=spec).spec == spec
    with pytest.raises(ValueError, match=r"other data; image: 1 x 12 x 12 pixels in .*; test split: "):
        ready(size=14, spec=spec)


def test_senseless_settings() -> None:
    at_least_one = ("ball", "balls", "train_games", "validation_games", "test_games", "batch_size")
    for name in at_least_one:
        with pytest.raises(ValueError, match=f"^{name} must be at least 1, got 0"):
            module(**{name: 0})
    for name in ("seed", "num_workers", "worker_timeout"):
        with pytest.raises(ValueError, match=f"{name} must be at least 0, got -1"):
            module(**{name: -1})
    with pytest.raises(ValueError, match="size must be at least 4, got 2"):
        module(size=2)
    with pytest.raises(ValueError, match="size must be a multiple of ball=2, got 13"):
        module(size=13)


@pytest.mark.filterwarnings(
    "ignore:.*does not have many workers",
    "ignore:The dirpath has changed",  # the resumed run must not write into the whole one's folder
)
def test_training_goes_on_with_the_very_next_games(tmp_path: Path) -> None:
    def fit(name: str, checkpoint: Path | None = None) -> list[Any]:
        def note(batch: CatchBatch) -> list[list[int]]:
            return torch.cat([batch.index[:, None], batch.columns, batch.drifts], 1).tolist()

        data = module(train_games=45)
        return trained_on(data, note, tmp_path / name, checkpoint, epochs=2, every_n_train_steps=1)

    whole = fit("whole")
    assert len(whole) == 10
    for taken in (2, 5, 7):
        assert fit(f"from{taken}", tmp_path / "whole" / f"{taken}.ckpt") == whole[taken:]
