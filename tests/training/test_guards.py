"""Guards against what goes wrong outside the model, and random numbers that stay where they are."""

import random
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fake_task import FakeTask, Fit
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor
from torch.utils.data import Dataset

from data.core.batching import BatchLoader, TokenBatches
from zoo.tasks.recognition.batch import ImageBatch
from zoo.training.callbacks import LastCheckpoint, MemoryAdvice, RandomState


class _OutOfMemory(FakeTask):
    def __init__(self, error: BaseException, stage: str) -> None:
        super().__init__()
        self.error, self.stage = error, stage

    def training_step(self, batch: Any, number: int) -> Tensor:
        if self.stage == "training" and number == 2:
            raise self.error
        return super().training_step(batch, number)

    def validation_step(self, batch: Any, number: int) -> None:
        if self.stage == "validation" and number == 1:
            raise self.error


@pytest.mark.parametrize(
    ("error", "stage", "number"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "training", 2),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "validation", 1),
        (MemoryError(), "training", 2),
    ],
)
def test_out_of_memory_names_the_batch_and_what_to_lower(
    fit: Fit, error: BaseException, stage: str, number: int
) -> None:
    with pytest.raises(type(error)) as raised:
        fit(_OutOfMemory(error, stage), [MemoryAdvice()])
    (advice,) = raised.value.__notes__
    assert f"on {stage} batch {number}: 3 sentences x 4 tokens, 3 sentences x 4 tokens." in advice
    assert (
        "Raise trainer.accumulate_grad_batches, which cuts the batch and keeps its effect, or lower "
        in advice
    )
    assert ", or lower data.batch_tokens, or " in advice
    assert ", or data.maximum_length, or model.hidden_size, or decoding.beam_size; " in advice


@pytest.mark.parametrize("stage", ["train", "validation", "test"])
def test_out_of_memory_with_images_names_what_makes_them_fewer(stage: str) -> None:
    images = ImageBatch(torch.arange(5), torch.zeros(5, 3, 20, 30), torch.zeros(5), [])
    advice = MemoryAdvice()
    trainer: Any = SimpleNamespace(datamodule=SimpleNamespace(batch_size=5))
    task: Any = None
    early = MemoryError()
    advice.on_exception(trainer, task, early)
    assert early.__notes__[0].startswith("memory ran out on the first batch. Raise trainer.")
    getattr(advice, f"on_{stage}_batch_start")(trainer, task, images, 7)
    error, named = MemoryError(), "training" if stage == "train" else stage
    advice.on_exception(trainer, task, error)
    assert error.__notes__ == [
        f"memory ran out on {named} batch 7: 5 images of 3 x 20 x 30. Raise "
        "trainer.accumulate_grad_batches, which cuts the batch and keeps its effect, or lower "
        "data.batch_size (now 5), or task.episodes, or model.hidden_size; on a GPU bf16-mixed precision "
        "halves what activations need"
    ]


def test_advice_on_a_batch_that_says_nothing_of_itself() -> None:
    advice, error, nobody = MemoryAdvice(), MemoryError(), SimpleNamespace(datamodule=None)
    advice.on_train_batch_start(nobody, nobody, [1, 2], 0)  # type: ignore[arg-type]
    advice.on_exception(nobody, nobody, error)  # type: ignore[arg-type]
    assert error.__notes__[0].startswith(
        "memory ran out on training batch 0: of unknown size. Raise trainer."
    )


def test_other_errors_get_no_advice(fit: Fit) -> None:
    with pytest.raises(RuntimeError, match="something else") as raised:
        fit(_OutOfMemory(RuntimeError("something else"), "training"), [MemoryAdvice()])
    assert not hasattr(raised.value, "__notes__")


class _Stuck(Dataset[Any]):
    def __getitem__(self, rows: Any) -> Any:
        time.sleep(60)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_a_stuck_worker_is_reported() -> None:
    batches = TokenBatches(np.ones((4, 2), dtype=np.int64), 4, seed=1)
    loader = BatchLoader(_Stuck(), batches, workers=1, worker_timeout=0.5)
    with pytest.raises(TimeoutError, match=r"no batch came from the 1 data workers for 0\.5 s"):
        next(iter(loader))


class _Draws(Callback):
    """Draws from every generator, in validation and in training."""

    def __init__(self) -> None:
        self.training: list[tuple[float, float, float]] = []

    def on_train_batch_end(self, *_: object) -> None:
        self.training.append((random.random(), float(np.random.rand()), float(torch.rand(()))))

    def on_validation_batch_end(self, *_: object) -> None:
        random.random(), np.random.rand(), torch.rand(())


def _seed() -> None:
    random.seed(1), np.random.seed(1), torch.manual_seed(1)


def test_a_validation_leaves_the_random_numbers_of_training_alone(fit: Fit) -> None:
    seen = []
    for batches in (4, 0):
        _seed()
        draws = _Draws()
        fit(FakeTask(), [draws, RandomState()], limit_val_batches=batches)
        seen.append(draws.training)
    assert seen[0] == seen[1]


def test_random_numbers_go_on_where_they_were() -> None:
    _seed()
    state = RandomState().state_dict()
    expected = (random.random(), float(np.random.rand()), float(torch.rand(())))
    random.random(), np.random.rand(5), torch.rand(7)
    resumed = RandomState()
    resumed.load_state_dict(state)
    trainer: Any = type("Trainer", (), {"global_rank": 0, "world_size": 1})
    resumed.on_fit_start(trainer, None)  # type: ignore[arg-type]
    resumed.on_train_batch_start(trainer, None)  # type: ignore[arg-type]
    assert (random.random(), float(np.random.rand()), float(torch.rand(()))) == expected
    resumed.on_train_batch_start(trainer, None)  # type: ignore[arg-type]
    assert (random.random(), float(np.random.rand()), float(torch.rand(()))) != expected, "only once"


def test_when_the_last_checkpoint_is_written(fit: Fit, tmp_path: Path) -> None:
    saved: list[int] = []

    class Watch(LastCheckpoint):
        def _save(self, trainer: Any) -> None:
            super()._save(trainer)
            saved.append(trainer.global_step)

    fit(FakeTask(), [Watch(folder=tmp_path, every_n_minutes=None, every_n_steps=3)])
    assert saved == [3, 6, 8], "every three steps, and at the end"
    saved.clear()
    fit(FakeTask(), [Watch(folder=tmp_path, every_n_minutes=1e-9)], accumulate_grad_batches=2)
    assert saved == [1, 2, 3, 4], "never while gradients are accumulated"
    saved.clear()
    fit(FakeTask(), [Watch(folder=tmp_path)])
    assert saved == [8]


def test_a_moved_folder_still_knows_its_best_checkpoint(tmp_path: Path) -> None:
    state = {
        "dirpath": "/old/checkpoints",
        "best_model_path": "/old/checkpoints/best.ckpt",
        "kth_best_model_path": "/old/checkpoints/best.ckpt",
        "last_model_path": "",
        "best_k_models": {"/old/checkpoints/best.ckpt": torch.tensor(3.0)},
        "best_model_score": torch.tensor(3.0),
        "kth_value": torch.tensor(3.0),
    }
    checkpoint: dict[str, Any] = {"callbacks": {"best": state, "other": {}}}
    LastCheckpoint(folder=tmp_path).on_load_checkpoint(None, None, checkpoint)  # type: ignore[arg-type]
    best = ModelCheckpoint(dirpath=tmp_path / "checkpoints", monitor="val/score", mode="max")
    best.load_state_dict(checkpoint["callbacks"]["best"])  # which would warn of another folder
    assert best.best_model_score == 3.0
    assert best.best_model_path == f"{tmp_path}/checkpoints/best.ckpt"
    assert list(best.best_k_models) == [f"{tmp_path}/checkpoints/best.ckpt"]


@pytest.mark.parametrize("period", ["every_n_minutes", "every_n_steps"])
def test_periods_are_positive(tmp_path: Path, period: str) -> None:
    with pytest.raises(ValueError, match=f"{period} must be positive, or null for never, got 0"):
        LastCheckpoint(folder=tmp_path, **{period: 0})
