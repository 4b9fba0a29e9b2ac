"""Signs of life in status.json."""

import time
from pathlib import Path

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.runs.status import StatusFile


class Heartbeat(Callback):
    """Updates the heartbeat in status.json while the run trains, validates and tests.

    Args:
        folder: the run's folder.
        seconds: the least time between two updates.
    """

    def __init__(self, *, folder: str | Path, seconds: float = 10.0) -> None:
        self._status = StatusFile(Path(folder))
        self._seconds = seconds
        self._last = -float("inf")

    def on_train_batch_end(self, trainer: pl.Trainer, *_: object) -> None:
        """Beats in training."""
        self._beat(trainer)

    def on_validation_batch_end(self, trainer: pl.Trainer, *_: object) -> None:
        """Beats in validation."""
        self._beat(trainer)

    def on_test_batch_end(self, trainer: pl.Trainer, *_: object) -> None:
        """Beats at test."""
        self._beat(trainer)

    def _beat(self, trainer: pl.Trainer) -> None:
        now = time.monotonic()
        if trainer.is_global_zero and now - self._last >= self._seconds:
            self._last = now
            self._status.beat()
