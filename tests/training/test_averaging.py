"""Averaged checkpoints: what is validated, kept and tested is the mean, and training does not notice."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from fake_task import FakeTask, Fit
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from zoo.training.callbacks import CheckpointAveraging, ExponentialAveraging, LastCheckpoint
from zoo.training.callbacks.averaging import Averaging


class Watched(FakeTask):
    """Remembers its weight after every step and in every validation; the weight is 0.5 ** step."""

    def __init__(self) -> None:
        super().__init__()
        self.trained: list[float] = []
        self.validated: list[float] = []

    def on_train_batch_end(self, *_: object) -> None:
        self.trained.append(self.weight.item())

    def on_validation_epoch_end(self) -> None:
        self.validated.append(self.weight.item())
        super().on_validation_epoch_end()


def checkpoint(folder: Path) -> ModelCheckpoint:
    return ModelCheckpoint(
        dirpath=folder / "checkpoints",
        filename="best",
        monitor="val/score",
        mode="max",
        save_on_train_epoch_end=False,
        enable_version_counter=False,
    )


def weight(path: Path) -> float:
    return float(torch.load(path, weights_only=True)["state_dict"]["weight"])


def fitted(fit: Fit, averaging: Averaging, folder: Path) -> Watched:
    """A task after four epochs, which trained as it does without the average."""
    task, plain = Watched(), Watched()
    fit(task, [averaging, checkpoint(folder)], max_epochs=4, enable_checkpointing=True)
    fit(plain, [], max_epochs=4)
    assert task.trained == plain.trained
    return task


AFTER = [0.5**4, 0.5**8, 0.5**12, 0.5**16]
"""The weight at each validation, behind epochs of four steps."""


def test_a_validation_sees_the_mean_of_the_last_and_training_its_own(fit: Fit, tmp_path: Path) -> None:
    task = fitted(fit, CheckpointAveraging(checkpoints=3), tmp_path)
    means = [AFTER[0], sum(AFTER[:2]) / 2, sum(AFTER[:3]) / 3, sum(AFTER[1:]) / 3]
    assert task.validated == pytest.approx(means)
    assert weight(tmp_path / "checkpoints" / "best.ckpt") == pytest.approx(means[-1])
    assert task.weight.item() == AFTER[-1]


def test_a_moving_average_of_every_step_is_validated_and_kept(fit: Fit, tmp_path: Path) -> None:
    task = fitted(fit, ExponentialAveraging(decay=0.5), tmp_path)
    means = [task.trained[0]]
    for step, trained in enumerate(task.trained[1:], start=2):
        rate = min(0.5, (1 + step) / (10 + step))
        means.append(rate * means[-1] + (1 - rate) * trained)
    assert task.validated == pytest.approx(means[3::4])
    assert weight(tmp_path / "checkpoints" / "best.ckpt") == pytest.approx(means[-1])
    assert task.weight.item() == AFTER[-1]


@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_a_moving_average_moves_and_remembers(decay: float) -> None:
    with pytest.raises(ValueError, match="decay must be above 0 and below 1, got"):
        ExponentialAveraging(decay=decay)


@pytest.mark.filterwarnings("ignore:Checkpoint directory")  # it is that of the first part
@pytest.mark.parametrize(
    "averaging", [partial(CheckpointAveraging, checkpoints=3), partial(ExponentialAveraging, decay=0.9)]
)
def test_a_resumed_fit_has_the_same_means(
    fit: Fit, tmp_path: Path, averaging: Callable[[], Averaging]
) -> None:
    def callbacks(folder: Path) -> list[pl.Callback]:
        return [LastCheckpoint(folder=folder), averaging(), checkpoint(folder)]

    whole, first, second = Watched(), Watched(), Watched()
    fit(whole, callbacks(tmp_path / "whole"), max_epochs=4, enable_checkpointing=True)
    fit(first, callbacks(tmp_path / "parts"), max_epochs=2, enable_checkpointing=True)

    class Resuming(pl.Trainer):
        def fit(self, *arguments: Any, **named: Any) -> None:
            last = tmp_path / "parts" / "checkpoints" / "last.ckpt"
            loaded = torch.load(last, weights_only=True)
            loaded["resume"]["fitted"] = False  # it is to go on, with more epochs
            torch.save(loaded, last)
            super().fit(*arguments, **named, ckpt_path=last, weights_only=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl, "Trainer", Resuming)
        fit(second, callbacks(tmp_path / "parts"), max_epochs=4, enable_checkpointing=True)
    assert first.trained + second.trained == whole.trained
    assert first.validated + second.validated == whole.validated


def test_a_gpu_keeps_no_copies_and_a_resumed_fit_finds_those_of_a_file() -> None:
    """Tensors without numbers, which know their device: such of two devices make no mean."""
    first, second = CheckpointAveraging(checkpoints=2), CheckpointAveraging(checkpoints=2)
    trainer: Any = SimpleNamespace(state=SimpleNamespace(fn="fit"), sanity_checking=False, global_step=4)
    with FakeTensorMode():
        module: Any = nn.Linear(2, 2, device="cuda")
        first.on_validation_start(trainer, module)
        kept = first.state_dict()["kept"][4]
        assert {value.device.type for value in kept.values()} == {"cpu"}
        second.load_state_dict({"kept": {4: {name: value.to("cpu") for name, value in kept.items()}}})
        trainer.global_step = 8
        second.on_validation_start(trainer, module)
        second.on_validation_end(trainer, module)
        assert module.weight.device.type == "cuda"


def test_a_test_and_a_sanity_check_use_what_they_are_given(fit: Fit, tmp_path: Path) -> None:
    task = Watched()
    fit(task, [CheckpointAveraging(checkpoints=2)], max_epochs=1, num_sanity_val_steps=1, test=True)
    assert task.validated == [1.0, AFTER[0]]


def test_one_checkpoint_is_no_mean() -> None:
    with pytest.raises(ValueError, match="checkpoints must be at least 2, got 1"):
        CheckpointAveraging(checkpoints=1)


def test_weights_with_two_names_are_kept_once() -> None:
    """Embeddings that are tied to the output would fill every checkpoint three times."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.output = nn.Embedding(3, 2), nn.Linear(2, 3)
            self.output.weight = self.embedding.weight

    trainer: Any = SimpleNamespace(state=SimpleNamespace(fn="fit"), sanity_checking=False, global_step=4)
    module: Any = Tied()
    averaging, checkpoint = CheckpointAveraging(checkpoints=2), {"state_dict": module.state_dict()}
    for trainer.global_step in (4, 8):
        averaging.on_validation_start(trainer, module)
        averaging.on_validation_end(trainer, module)
    averaging.on_save_checkpoint(trainer, module, checkpoint)
    for weights in (
        *averaging.state_dict()["kept"].values(),
        checkpoint["state_dict"],
        checkpoint["trained_weights"],
    ):
        assert set(weights) == {"embedding.weight", "output.weight", "output.bias"}
        assert weights["embedding.weight"] is weights["output.weight"]

    moving = ExponentialAveraging(decay=0.5)
    for trainer.global_step in (1, 2):
        moving.on_train_batch_end(trainer, module)
        module.embedding.weight.data.fill_(2.0)
    weights = moving.state_dict()["moving"]
    assert weights["embedding.weight"] is weights["output.weight"]
