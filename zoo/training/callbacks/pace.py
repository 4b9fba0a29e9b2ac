"""The time left of a fit."""

import time

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Timer


class Pace:
    """Estimates the time left from the steps of this process and from the time limit."""

    def __init__(self) -> None:
        self._began, self._first_step = 0.0, 0

    def start(self, trainer: pl.Trainer) -> None:
        """Begins to measure."""
        self._began, self._first_step = time.monotonic(), trainer.global_step

    def seconds_left(self, trainer: pl.Trainer) -> float | None:
        """The seconds left of the whole fit, validations included; None where that is not known."""
        estimates = []
        done, total = trainer.global_step - self._first_step, trainer.estimated_stepping_batches
        if done and total != float("inf"):
            pace = (time.monotonic() - self._began) / done
            estimates.append(pace * max(0.0, total - trainer.global_step))
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, Timer):
                remaining = callback.time_remaining("train")
                estimates += [] if remaining is None else [max(0.0, remaining)]
        return min(estimates, default=None)
