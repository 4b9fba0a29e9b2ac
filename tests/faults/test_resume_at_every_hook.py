"""A fit that is interrupted anywhere and gone on with ends as the one that was not, whatever its budget."""

import itertools
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tiny_fits import Fault, fit, outcome, same

# Lightning warns of the folder of the first part
pytestmark = pytest.mark.filterwarnings("ignore:Checkpoint directory")

BUDGETS: dict[str, dict[str, Any]] = {
    "steps": {"max_steps": 13},
    "steps, validated every 3": {"max_steps": 13, "check_val_every_n_epoch": None, "val_check_interval": 3},
    "epochs, validated twice": {"max_epochs": 3, "val_check_interval": 0.5},
}
"""An epoch has 5 steps. A save one step before a validation is in each of them."""
MORE: dict[str, dict[str, Any]] = {
    "epochs": {"max_epochs": 3},
    "epochs, validated every 2": {"max_epochs": 3, "check_val_every_n_epoch": 2},
    "steps, validated every 7": {"max_steps": 16, "check_val_every_n_epoch": None, "val_check_interval": 7},
    "steps and epochs": {"max_steps": 13, "max_epochs": 3},
    "a sanity check": {"max_steps": 13, "num_sanity_val_steps": 2},
    "part of a validation": {**BUDGETS["steps, validated every 3"], "limit_val_batches": 2},
    "part of an epoch": {"max_steps": 13, "limit_train_batches": 3},
    "accumulated gradients": {**BUDGETS["steps, validated every 3"], "accumulate_grad_batches": 2},
    "averaged weights": {**BUDGETS["steps, validated every 3"], "averaging": "last"},
    "a moving average": {**BUDGETS["steps, validated every 3"], "averaging": "exponential"},
    "a schedule by epochs": {"max_steps": 13, "plateau_by_epoch": True},
    "logged every 3": {**BUDGETS["steps, validated every 3"], "log_every_n_steps": 3},
}


def whole(
    folder: Path, budget: Mapping[str, Any], every: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """What the uninterrupted fit leaves, and the hooks that it passed."""
    passed = Fault()
    assert fit(folder, budget, every=every, fault=passed) == "finished"
    return outcome(folder), passed.reached


@pytest.mark.sampled(1)
@pytest.mark.parametrize("budget", BUDGETS)
def test_stopped_behind_every_step_and_in_every_validation(tmp_path: Path, budget: str) -> None:
    expected, hooks = whole(tmp_path / "whole", BUDGETS[budget])
    assert len(set(hooks)) > 10
    for number, hook in enumerate(hooks, start=1):
        if hook in ("on_train_batch_end", "on_validation_start"):
            folder = tmp_path / str(number)
            assert fit(folder, BUDGETS[budget], fault=Fault(number, signal.SIGTERM)) == "preempted"
            assert fit(folder, BUDGETS[budget], resume=True) == "finished"
            assert same(outcome(folder), expected), f"stopped at hook {number}, {hook}"


@pytest.mark.parametrize("budget", BUDGETS)
def test_killed_again_and_again(tmp_path: Path, budget: str) -> None:
    expected, _ = whole(tmp_path / "whole", BUDGETS[budget])
    folder = tmp_path / "killed"
    for start in itertools.count():  # each gets two or three steps further
        fault = Fault(20 + start % 5)
        if fit(folder, BUDGETS[budget], every=1, fault=fault, resume=start > 0) == "finished":
            break
    assert start > 3
    assert same(outcome(folder), expected)


@pytest.mark.slow
@pytest.mark.parametrize("number", [None, signal.SIGTERM], ids=["killed", "stopped"])
@pytest.mark.parametrize("budget", [*BUDGETS, *MORE])
def test_interrupted_at_every_hook(tmp_path: Path, budget: str, number: int | None) -> None:
    settings = {**BUDGETS, **MORE}[budget]
    expected, _ = whole(tmp_path / "whole", settings)
    saved, hooks = whole(tmp_path / "saved", settings, every=3)
    assert same(saved, expected), "to save changes nothing"
    for place, hook in enumerate(hooks, start=1):
        folder = tmp_path / str(place)
        assert fit(folder, settings, every=3, fault=Fault(place, number)) != "finished"
        assert fit(folder, settings, every=3, resume=True) == "finished"
        assert same(outcome(folder), expected), f"interrupted at hook {place}, {hook}"
