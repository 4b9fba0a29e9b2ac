"""A run whose numbers are no longer finite stops at once, and saves nothing of it."""

import math
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_task import FakeTask, Fit, batch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint

from zoo.training.callbacks import Diverged, DivergenceGuard


class _Steps(Callback):
    def __init__(self) -> None:
        self.trained = self.validations = 0

    def on_train_batch_start(self, trainer: Any, *_: object) -> None:
        self.trained = trainer.global_step + 1

    def on_validation_batch_start(self, *_: object) -> None:
        self.validations += 1


def _checkpoint(folder: Path, **options: Any) -> ModelCheckpoint:
    return ModelCheckpoint(dirpath=folder, filename="last", enable_version_counter=False, **options)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_the_step_is_named_and_at_most_one_more_is_trained(fit: Fit, value: float) -> None:
    task, steps = FakeTask(), _Steps()
    task.loss_at[6] = value
    with pytest.raises(Diverged, match="the loss is not finite at step 6") as raised:
        fit(task, [steps, DivergenceGuard()])
    assert raised.value.step == 6
    assert steps.trained == 7


def test_the_numbers_of_items_are_read_only_where_something_is_wrong(fit: Fit, monkeypatch: Any) -> None:
    """On a GPU that would make each step wait."""
    read: list[Any] = []
    monkeypatch.setattr(torch.Tensor, "tolist", lambda self: read.append(self) or [])
    fit(FakeTask(), [DivergenceGuard()], max_steps=3, limit_val_batches=0)
    assert not read


def test_the_last_step_before_a_validation_is_checked_before_it(fit: Fit) -> None:
    task, steps = FakeTask(), _Steps()
    task.loss_at[4] = math.nan
    with pytest.raises(Diverged, match="step 4"):
        fit(task, [DivergenceGuard(), steps])
    assert steps.trained == 4
    assert steps.validations == 0


def test_the_very_last_step_is_checked(fit: Fit) -> None:
    task = FakeTask()
    task.loss_at[3] = math.nan
    with pytest.raises(Diverged, match="step 3"):
        fit(task, [DivergenceGuard()], max_steps=3, limit_val_batches=0)


@pytest.mark.parametrize("trigger", [{"every_n_train_steps": 1}, {"save_on_exception": True}])
def test_the_last_finite_checkpoint_is_kept(fit: Fit, tmp_path: Path, trigger: dict[str, Any]) -> None:
    task = FakeTask()
    task.loss_at[6] = math.nan
    with pytest.raises(Diverged):
        fit(task, [DivergenceGuard(), _checkpoint(tmp_path, **trigger)], enable_checkpointing=True)
    for file in tmp_path.glob("*.ckpt"):
        weight = torch.load(file, weights_only=True)["state_dict"]["weight"]
        assert weight.isfinite().all(), file
    if "every_n_train_steps" in trigger:
        assert torch.load(tmp_path / "last.ckpt", weights_only=True)["global_step"] == 5


def test_weights_broken_by_a_gradient_are_not_saved_although_the_loss_was_finite(
    fit: Fit, tmp_path: Path
) -> None:
    task = FakeTask()
    task.gradient_at[2] = math.nan
    with pytest.raises(Diverged, match="weights are not finite at step 2"):
        fit(
            task,
            [DivergenceGuard(), _checkpoint(tmp_path, every_n_train_steps=1)],
            enable_checkpointing=True,
        )
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["global_step"] == 1


def test_a_loss_beyond_the_largest_has_diverged(fit: Fit) -> None:
    task = FakeTask()
    task.loss_at[6] = -1e9
    with pytest.raises(Diverged, match=r"largest_loss=10000, at step 6"):
        fit(task, [DivergenceGuard()])
    task = FakeTask()
    task.loss_at[6] = -1e9
    fit(task, [DivergenceGuard(largest_loss=1e30)])
    with pytest.raises(ValueError, match="must be positive, got 0"):
        DivergenceGuard(largest_loss=0)


def test_the_batch_is_named_by_its_items(fit: Fit) -> None:
    task = FakeTask()
    task.loss_at[6] = math.nan  # the second batch of the second epoch
    with pytest.raises(Diverged, match=r"batch of training sentences 3, 4, 5;") as raised:
        fit(task, [DivergenceGuard()])
    assert raised.value.items == [3, 4, 5]
    assert "0, 1" in str(Diverged("", 1, range(30)))
    assert "and 10 more" in str(Diverged("", 1, range(30)))


def test_a_broken_gradient_is_blamed_on_its_batch(fit: Fit, tmp_path: Path) -> None:
    task = FakeTask()
    task.gradient_at[3] = math.nan
    with pytest.raises(Diverged) as raised:
        fit(
            task, [DivergenceGuard(), _checkpoint(tmp_path, every_n_train_steps=1)], enable_checkpointing=True
        )
    assert raised.value.items == [6, 7, 8]


def test_a_healthy_run_is_left_alone(fit: Fit, tmp_path: Path) -> None:
    trainer = fit(FakeTask(), [DivergenceGuard(), _checkpoint(tmp_path)], enable_checkpointing=True)
    assert trainer.global_step == 8


def test_a_step_is_checked_one_step_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes the host wait is reading a flag; it must be the previous step's."""
    read: list[int] = []

    class Loss(float):
        pass

    from zoo.training.callbacks import divergence

    monkeypatch.setattr(divergence, "_check", lambda loss, _: read.append(loss.step) if loss else None)
    guard = DivergenceGuard()
    for step in (1, 2, 3):
        trainer: Any = type("Trainer", (), {"global_step": step, "world_size": 1})
        guard.on_train_batch_end(trainer, None, {"loss": torch.tensor(1.0)}, batch(0), 0)  # type: ignore[arg-type]
        assert read == list(range(1, step))


@pytest.mark.gpu
def test_on_a_gpu_the_loss_is_copied_without_waiting() -> None:
    from zoo.training.callbacks.divergence import _check, _copied

    loss = torch.tensor(math.nan, device="cuda")  # the copy of a number waits
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        copied = _copied(loss, torch.arange(2), 3)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    with pytest.raises(Diverged, match="step 3"):
        _check(copied, 1e4)
