"""Signs of life in status.json, and how far the training is."""

import time
from pathlib import Path

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.runs.status import Progress, StatusFile
from zoo.training.callbacks.pace import Pace
from zoo.training.callbacks.pruning import Pruned


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
        self._pace = Pace()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the estimate of the time left."""
        self._pace.start(trainer)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: object) -> None:
        """Beats in training."""
        self._beat(trainer)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Says how far a training came that was pruned; other errors may come before there is a training."""
        if isinstance(exception, Pruned):
            self._last = -float("inf")
            self._beat(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Says where the training ended, however soon after the last beat."""
        self._last = -float("inf")
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
            self._status.beat(self._progress(trainer) if trainer.training or trainer.validating else None)

    def _progress(self, trainer: pl.Trainer) -> Progress:
        steps = trainer.estimated_stepping_batches
        picks = trainer.checkpoint_callback
        best = getattr(picks, "best_model_score", None)
        return Progress(
            step=trainer.global_step,
            steps=None if steps == float("inf") else int(steps),
            seconds_left=self._pace.seconds_left(trainer),
            metric=getattr(picks, "monitor", None),
            best=None if best is None else float(best),
        )
