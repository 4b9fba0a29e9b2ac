"""No budget ends without a validation, whatever is due."""

from typing import Any

import pytest
from fake_task import FakeTask, Fit

from zoo.callbacks.final_validation import FinalValidation


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
    ],
)
def test_the_last_step_is_validated_once(fit: Fit, budget: dict[str, Any], steps: list[int]) -> None:
    task = Counting()
    fit(task, [FinalValidation()], **budget)
    assert task.validated_at == steps
