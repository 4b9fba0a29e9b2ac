"""Every model on a GPU: it trains, is saved, goes on, predicts what a CPU predicts, and never waits."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from devices import DEVICE, no_waiting
from lightning.pytorch import Callback
from small_fits import CASES, Case, fit

import zoo
from zoo.kernels import cross_entropy

pytestmark = pytest.mark.gpu
EACH = pytest.mark.parametrize("name", CASES)


@EACH
def test_trains_is_saved_and_goes_on(name: str, tmp_path: Path) -> None:
    case, half = CASES[name], tmp_path / "half.ckpt"
    whole = fit(case, tmp_path, steps=4, precision="bf16-mixed", more=[_Keep(tmp_path, half)])
    rest = fit(case, tmp_path, steps=4, precision="bf16-mixed", resumed=half)
    assert rest == pytest.approx(whole[2:], rel=2e-2)  # a GPU sums in no fixed order
    predictor: Any = zoo.load(_last(tmp_path), device=DEVICE, precision="bf16-mixed")
    assert len(_answers(predictor, case, tmp_path)) == (len(case.asked(tmp_path)) if case.asked else 1)


class _Keep(Callback):
    """Copies what was saved at step 2."""

    def __init__(self, folder: Path, copy: Path) -> None:
        self.folder, self.copy = folder, copy

    def on_train_batch_start(self, trainer: pl.Trainer, *_: object) -> None:
        if trainer.global_step == 3:  # before it is replaced by that of step 4
            shutil.copy(_last(self.folder), self.copy)


def _last(folder: Path) -> Path:
    return folder / "checkpoints" / "last.ckpt"


def _answers(predictor: Any, case: Case, folder: Path) -> list[Any]:
    """The best of each answer; of what plays, what it did in one game."""
    if case.asked is None:
        return [[ball.image.sum().round().item() for ball in predictor.play(3)]]
    best = [answer[0] for answer in predictor.predict(case.asked(folder))]
    return [one.text if hasattr(one, "text") else one.label for one in best]


@EACH
def test_predicts_what_a_cpu_predicts(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    fit(case, tmp_path, steps=20)
    by_cpu, by_gpu = (
        _answers(zoo.load(_last(tmp_path), device=device), case, tmp_path) for device in ("cpu", DEVICE)
    )
    assert by_cpu == by_gpu


class _NoWaiting(Callback):
    """Lets no step wait for the device, but the first, in which kernels are made."""

    def __init__(self) -> None:
        self._watch, self.steps = ExitStack(), 0

    def on_train_batch_start(self, trainer: pl.Trainer, *_: object) -> None:
        if trainer.global_step:
            self._watch.enter_context(no_waiting())
            self.steps += 1

    def on_train_batch_end(self, *_: object) -> None:
        self._watch.close()

    on_exception = on_train_batch_end


@EACH
def test_no_step_waits_for_the_device(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if DEVICE == "cpu":  # a CPU's loss takes padding out, by its place; a GPU's kernel passes over it
        monkeypatch.setattr(cross_entropy, "_kernel_for", lambda features: _losses_and_slopes)
    watch = _NoWaiting()
    fit(CASES[name], tmp_path, steps=4, precision="bf16-mixed", more=[watch], saved_every=None)
    assert watch.steps == 3


def _losses_and_slopes(
    scores: torch.Tensor, labels: torch.Tensor, *, padding: int, smoothing: float
) -> torch.Tensor:
    """What `zoo.kernels.cross_entropy_rows` does, by torch's operations."""
    with torch.enable_grad():
        leaf = scores.detach().float().requires_grad_()
        losses = torch.nn.functional.cross_entropy(
            leaf, labels, ignore_index=padding, label_smoothing=smoothing, reduction="none"
        )
        (slopes,) = torch.autograd.grad(losses.sum(), leaf)
    scores.copy_(slopes)
    return losses.detach()


def test_what_waits_is_noticed() -> None:
    flags = torch.tensor([True, False], device=DEVICE)
    with pytest.raises((AssertionError, RuntimeError)), no_waiting():
        torch.arange(2, device=DEVICE)[flags]
    with pytest.raises((AssertionError, RuntimeError)), no_waiting():
        flags.any().item()
