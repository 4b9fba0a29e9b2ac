"""The checkpoint from which a stopped run resumes, to the last bit."""

import logging
import os
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback

from zoo.core.metrics_csv import rewind
from zoo.runtime.preemption import PREEMPTION, Preempted
from zoo.training.progress import KEY

log = logging.getLogger(__name__)


class LastCheckpoint(Callback):
    """Writes last.ckpt periodically, when asked to stop, and at the end of the fit.

    It is written between two steps, or in a validation as of its beginning: a resumed run repeats that
    validation. So an interrupted and an uninterrupted run pass through the same states. Nothing is saved
    while gradients are being accumulated.

    A request to stop (`PREEMPTION`) ends the fit within a step. It also ends a validation, except the last of
    a fit, to which a resumed run would not return, and those of several processes, whose numbers of batches
    may differ.

    Args:
        folder: the run's folder.
        every_n_minutes: the longest time between two saves; None for no limit.
        every_n_steps: the most steps between two saves; None for no limit.

    Raises:
        ValueError: a period is not positive.
    """

    def __init__(
        self, *, folder: str | Path, every_n_minutes: float | None = 5.0, every_n_steps: int | None = None
    ) -> None:
        for name, period in (("every_n_minutes", every_n_minutes), ("every_n_steps", every_n_steps)):
            if period is not None and period <= 0:
                raise ValueError(f"{name} must be positive, or null for never, got {period}")
        self.path = Path(folder) / "checkpoints" / "last.ckpt"
        self._metrics = Path(folder) / "metrics.csv"
        self._every_n_seconds = None if every_n_minutes is None else 60 * every_n_minutes
        self._every_n_steps = every_n_steps
        self._saved_at, self._saved_step = 0.0, 0
        self._saving = self._validating = self._fitted = False
        self._loaded: dict[str, Any] | None = None
        self._resumed: dict[str, Any] | None = None

    # Resuming

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Keeps what Lightning does not, and corrects paths where the run's folder has moved."""
        self._loaded = checkpoint.get(KEY)
        for state in checkpoint["callbacks"].values():
            if "dirpath" in state:
                _move(state, Path(state["dirpath"]), self.path.parent)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Removes what was logged since the checkpoint; a fit that had ended is not begun again."""
        self._resumed, self._loaded = self._loaded, None
        self._fitted = False
        if self._resumed is None:
            return
        if trainer.is_global_zero:
            size = self._metrics.stat().st_size if self._metrics.exists() else 0
            if size < self._resumed["metrics_size"]:
                log.warning("%s is shorter than it was: rows are missing", self._metrics)
            rewind(self._metrics, self._resumed["metrics_size"])
        if self._resumed["fitted"]:
            trainer.should_stop = True

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """From now on a request to stop waits for the end of the step."""
        if self._resumed is not None:
            # The batch that was ready when this was saved will be counted again. Until then Lightning would
            # conclude from this count that the next validation has just happened.
            trainer.fit_loop.epoch_loop.batch_progress.total.ready = self._resumed["batches"]
        PREEMPTION.install()
        PREEMPTION.deferred = True
        self._saved_at, self._saved_step = time.monotonic(), trainer.global_step

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Between two steps: saves where it is due, and stops where that was requested."""
        loop = trainer.fit_loop.epoch_loop
        if self._resumed is not None:
            # Lightning's own count may be off by one.
            loop._batches_that_stepped = self._resumed["logged_steps"]
            _end_restart(trainer)
            self._resumed = None
        if loop.batch_progress.current.completed % trainer.accumulate_grad_batches:
            return
        due, number = self._agree(trainer, self._is_due(trainer), PREEMPTION.received or 0)
        if due or number:
            self._save(trainer)
        if number:
            raise Preempted(number)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """From now on the state before this validation is saved."""
        self._validating = not trainer.sanity_checking

    def on_validation_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Ends a validation where that was requested."""
        number = PREEMPTION.received
        if number is None or not self._validating or trainer.should_stop or trainer.world_size > 1:
            return
        if trainer.fit_loop.epoch_loop._should_accumulate():
            return
        self._save(trainer)
        raise Preempted(number)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The validation is done."""
        self._validating = False
        if self._resumed is not None and not trainer.sanity_checking:
            _end_restart(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves the end of the fit."""
        self._fitted = True
        self._save(trainer)
        PREEMPTION.deferred = False
        if PREEMPTION.received is not None:
            raise Preempted(PREEMPTION.received)

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A test is not resumed but repeated, so a request to stop ends it at once."""
        PREEMPTION.install()

    # Saving

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adds what a resumed run needs beyond Lightning's state."""
        if not self._saving:
            return
        loops = checkpoint["loops"]["fit_loop"]
        if self._validating:
            # "In the validation, at its first batch": Lightning then begins the validation anew.
            counts = {"ready": 1, "started": 1, "processed": 0, "completed": 0}
            loops["epoch_loop.val_loop.batch_progress"] |= {"total": dict(counts), "current": dict(counts)}
        elif not self._fitted:
            # The resumed run finds out anew whether the next batch is the last.
            loops["epoch_loop.batch_progress"]["is_last_batch"] = False
        loop = trainer.fit_loop.epoch_loop
        checkpoint[KEY] = {
            "fitted": self._fitted,
            "batches": loop.batch_progress.total.completed,
            # A step is counted after its validation.
            "logged_steps": loop._batches_that_stepped + self._validating,
            "metrics_size": self._flushed_metrics(),
        }

    def _flushed_metrics(self) -> int:
        """The size of metrics.csv in bytes, which are on the disk before the checkpoint."""
        if not self._metrics.exists():
            return 0
        with self._metrics.open("rb") as file:
            os.fsync(file.fileno())
            return os.fstat(file.fileno()).st_size

    def _save(self, trainer: pl.Trainer) -> None:
        self._saving = True
        try:
            trainer.save_checkpoint(self.path, weights_only=False)
        finally:
            self._saving = False
        self._saved_at, self._saved_step = time.monotonic(), trainer.global_step

    def _is_due(self, trainer: pl.Trainer) -> bool:
        steps, seconds = trainer.global_step - self._saved_step, time.monotonic() - self._saved_at
        return (self._every_n_steps is not None and steps >= self._every_n_steps) or (
            self._every_n_seconds is not None and steps > 0 and seconds >= self._every_n_seconds
        )

    @staticmethod
    def _agree(trainer: pl.Trainer, due: bool, number: int) -> tuple[bool, int]:
        """Makes several processes save and stop together, as soon as one of them must."""
        if trainer.world_size == 1:
            return due, number
        asked = torch.tensor([float(due), float(number)], device=trainer.strategy.root_device)
        asked = trainer.strategy.reduce(asked, reduce_op="max")
        return bool(asked[0]), int(asked[1])


def _end_restart(trainer: pl.Trainer) -> None:
    """Ends Lightning's restarting, in which a plateau schedule would skip this epoch.

    Only this loop's own flag is set: with a budget in steps the property's setter turns False into True, also
    in inner loops, and the next validation would begin behind the last batch of the one before.
    """
    trainer.fit_loop._restarting = False


def _move(state: dict[str, Any], before: Path, now: Path) -> None:
    """Moves paths in a `ModelCheckpoint`'s state from one folder to another."""

    def moved(path: str) -> str:
        inside = path and Path(path).is_relative_to(before)
        return str(now / Path(path).relative_to(before)) if inside else path

    state["dirpath"] = str(now)
    for name in ("best_model_path", "kth_best_model_path", "last_model_path"):
        state[name] = moved(state[name])
    state["best_k_models"] = {moved(path): score for path, score in state["best_k_models"].items()}
