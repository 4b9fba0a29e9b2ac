"""Trainings that are ended early."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from zoo.runs.recording import Recording
from zoo.runs.status import State, StatusFile
from zoo.training.callbacks.pruning import Pruned, Pruning


def trainer(step: int, value: float, sanity_checking: bool = False) -> Any:
    return SimpleNamespace(
        sanity_checking=sanity_checking,
        callback_metrics={"val/loss": torch.tensor(value)},
        global_step=step,
        is_global_zero=True,
        strategy=SimpleNamespace(broadcast=lambda verdict: verdict),
    )


def test_ends_in_the_step_after_the_validation_that_left_no_hope() -> None:
    asked = []
    pruning = Pruning(monitor="val/loss", hopeless=lambda *told: bool(asked.append(told)) or told[1] == 20)
    task: Any = None
    pruning.on_validation_end(trainer(0, 9.0, sanity_checking=True), task)
    pruning.on_validation_end(trainer(10, 2.0), task)
    pruning.on_train_batch_start(trainer(10, 2.0), task)
    pruning.on_validation_end(trainer(20, 1.5), task)
    with pytest.raises(Pruned, match=r"val/loss was 1\.5 at step 20"):
        pruning.on_train_batch_start(trainer(20, 1.5), task)
    assert asked == [(2.0, 10), (1.5, 20)]


def test_is_recorded_as_pruned_and_nothing_went_wrong(tmp_path: Path) -> None:
    with Recording(tmp_path, []) as recording:
        raise Pruned("others were better")
    status = StatusFile(tmp_path).read()
    assert (status.state, status.exit_code, recording.exit_code) == (State.PRUNED, 0, 0)
    assert "others were better" in str(status.exception)
