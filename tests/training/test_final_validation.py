"""No budget ends without a validation, whatever is due."""

from typing import Any

import pytest
from fake_task import FakeTask, Fit

from zoo.training.callbacks.final_validation import FinalValidation


class Counting(FakeTask):
    """Notes the steps behind which it was validated."""

    def __init__(self) -> None:
        super().__init__()
        self.validated_at: list[int] = []

    def on_validation_epoch_end(self) -> None:
        self.validated_at.append(self.global_step)


@pytest.mark.parametrize(
    ("budget", "steps"),
    [
        ({"max_steps": 6, "check_val_every_n_epoch": 20}, [6]),
        ({"max_epochs": 3, "check_val_every_n_epoch": 2}, [8, 12]),
        ({"max_steps": 8, "max_epochs": None, "check_val_every_n_epoch": 2}, [8]),
        ({"max_steps": 7, "max_epochs": None, "check_val_every_n_epoch": 1}, [4, 7]),
        (
            {"max_steps": 7, "max_epochs": None, "check_val_every_n_epoch": None, "val_check_interval": 3},
            [3, 6, 7],
        ),
        ({"max_steps": 3, "check_val_every_n_epoch": None, "val_check_interval": 100}, [3]),
        ({"max_epochs": 2, "check_val_every_n_epoch": None, "val_check_interval": 100}, [8]),
        ({"max_epochs": 2, "check_val_every_n_epoch": None, "val_check_interval": 4}, [4, 8]),
        ({"max_epochs": 2, "check_val_every_n_epoch": None, "val_check_interval": 3}, [3, 6, 8]),
        (
            {"max_epochs": 2, "min_epochs": 2, "check_val_every_n_epoch": None, "val_check_interval": 5},
            [5, 8],
        ),
        ({"max_epochs": 1, "val_check_interval": 3}, [3, 4]),
        ({"max_epochs": 1, "val_check_interval": 0.01, "limit_train_batches": 2}, [1, 2]),
        ({"max_epochs": 1, "val_check_interval": 4}, [4]),
        ({"max_epochs": None, "max_steps": 5, "val_check_interval": 4}, [4, 5]),
    ],
)
def test_the_last_step_is_validated_once(fit: Fit, budget: dict[str, Any], steps: list[int]) -> None:
    task = Counting()
    fit(task, [FinalValidation()], **budget)
    assert task.validated_at == steps


@pytest.mark.parametrize(
    "every",
    [{"check_val_every_n_epoch": 1000}, {"check_val_every_n_epoch": None, "val_check_interval": 10**6}],
)
def test_the_step_at_which_time_is_over_is_validated_once(fit: Fit, every: dict[str, Any]) -> None:
    task = Counting()
    trainer = fit(task, [FinalValidation()], max_epochs=-1, max_time={"seconds": 0.3}, **every)
    assert task.validated_at == [trainer.global_step]


@pytest.mark.parametrize(
    ("limits", "batches"),
    [
        ({"val_check_interval": 5}, 4),
        ({"val_check_interval": 4, "limit_train_batches": 3}, 3),
        ({"val_check_interval": 3, "limit_train_batches": 0.5}, 2),
        ({"val_check_interval": 100, "limit_train_batches": 500}, 4),
    ],
)
def test_an_interval_that_no_epoch_reaches_is_refused_with_advice_that_works(
    fit: Fit, limits: dict[str, Any], batches: int
) -> None:
    task = Counting()
    interval = limits["val_check_interval"]
    with pytest.raises(
        ValueError, match=f"trainer.val_check_interval: {interval} batches .* which has {batches}:"
    ):
        fit(task, [FinalValidation()], **limits)
    assert task.global_step == 0
    for advice in ({"val_check_interval": batches}, {"check_val_every_n_epoch": None}):
        advised = Counting()
        trainer = fit(advised, [FinalValidation()], **(limits | advice))
        assert advised.validated_at[-1] == trainer.global_step == 2 * batches
