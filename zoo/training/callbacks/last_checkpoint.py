"""The checkpoint from which a stopped run goes on as if nothing had happened."""

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
    """Writes last.ckpt now and then, when asked to stop, and at the end of the fit.

    It is written between two steps, when all that belongs to the last one has happened, or in a validation,
    as of its beginning: a resumed run does that validation again. So an interrupted and an uninterrupted run
    pass through the same states. Nothing is saved while gradients are being accumulated over batches.

    Being asked to stop (`PREEMPTION`) ends the fit within a step. A validation is left, too, but not the last
    one of a fit, which a resumed run would not come back to; and under several processes, which need not have
    equally many batches to validate, none is.

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

    # Going on

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Keeps what Lightning does not, for the fit that is about to start.

        A run's folder may have been moved since: Lightning would forget what it knows of the best checkpoint.
        """
        self._loaded = checkpoint.get(KEY)
        for state in checkpoint["callbacks"].values():
            if "dirpath" in state:
                _move(state, Path(state["dirpath"]), self.path.parent)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Takes back what was logged since the checkpoint; a fit that had ended is not begun again."""
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
        """From now on a signal waits for the end of the step."""
        if self._resumed is not None:
            # The batch that was ready when this was saved will be so once more. Until then Lightning asks by
            # this count whether a validation has just been, and would take the one to come for that.
            trainer.fit_loop.epoch_loop.batch_progress.total.ready = self._resumed["batches"]
        PREEMPTION.install()
        PREEMPTION.deferred = True
        self._saved_at, self._saved_step = time.monotonic(), trainer.global_step

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Between two steps: saves when it is due, and leaves when asked to stop."""
        loop = trainer.fit_loop.epoch_loop
        if self._resumed is not None:
            # Lightning's own count is one off, depending on where it thinks that it was stopped.
            loop._batches_that_stepped = self._resumed["logged_steps"]
            _went_on(trainer)
            self._resumed = None
        if loop.batch_progress.current.completed % trainer.accumulate_grad_batches:
            return
        due, number = self._agree(trainer, self._is_due(trainer), PREEMPTION.received or 0)
        if due or number:
            self._save(trainer)
        if number:
            raise Preempted(number)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """What is saved from now on is the state before this validation."""
        self._validating = not trainer.sanity_checking

    def on_validation_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Leaves a long validation when asked to stop."""
        number = PREEMPTION.received
        if number is None or not self._validating or trainer.should_stop or trainer.world_size > 1:
            return
        if trainer.fit_loop.epoch_loop._should_accumulate():
            return
        self._save(trainer)
        raise Preempted(number)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The validation counts as done."""
        self._validating = False
        if self._resumed is not None and not trainer.sanity_checking:
            _went_on(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves the end of the fit: what is left to do begins with it."""
        self._fitted = True
        self._save(trainer)
        PREEMPTION.deferred = False
        if PREEMPTION.received is not None:
            raise Preempted(PREEMPTION.received)

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A test is not resumed but done again: it is left at once."""
        PREEMPTION.install()

    # Saving

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adds what a resumed run needs beyond Lightning's own state."""
        if not self._saving:
            return
        loops = checkpoint["loops"]["fit_loop"]
        if self._validating:
            # "In the middle of the validation, at its first batch": Lightning goes back and begins it.
            counts = {"ready": 1, "started": 1, "processed": 0, "completed": 0}
            loops["epoch_loop.val_loop.batch_progress"] |= {"total": dict(counts), "current": dict(counts)}
        elif not self._fitted:
            # What is said of the batch to come is said again when the resumed run takes it.
            loops["epoch_loop.batch_progress"]["is_last_batch"] = False
        loop = trainer.fit_loop.epoch_loop
        checkpoint[KEY] = {
            "fitted": self._fitted,
            "batches": loop.batch_progress.total.completed,
            # Counted after a validation that belongs to a step.
            "logged_steps": loop._batches_that_stepped + self._validating,
            "metrics_size": self._flushed_metrics(),
        }

    def _flushed_metrics(self) -> int:
        """Bytes of metrics.csv, which must be on the disk before a checkpoint that builds on them."""
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
        """Several processes save and leave together, as soon as one of them must."""
        if trainer.world_size == 1:
            return due, number
        asked = torch.tensor([float(due), float(number)], device=trainer.strategy.root_device)
        asked = trainer.strategy.reduce(asked, reduce_op="max")
        return bool(asked[0]), int(asked[1])


def _went_on(trainer: pl.Trainer) -> None:
    """Nothing is to be made up for any more, or a plateau schedule would not look at this epoch.

    Only this loop's own flag is set: with a budget in steps the property's setter turns "no" into "yes", for
    all inner loops, too, and the next validation would begin behind the last batch of the one before.
    """
    trainer.fit_loop._restarting = False


def _move(state: dict[str, Any], before: Path, now: Path) -> None:
    """Paths in a `ModelCheckpoint`'s state that lay in one folder lie in another."""

    def moved(path: str) -> str:
        inside = path and Path(path).is_relative_to(before)
        return str(now / Path(path).relative_to(before)) if inside else path

    state["dirpath"] = str(now)
    for name in ("best_model_path", "kth_best_model_path", "last_model_path"):
        state[name] = moved(state[name])
    state["best_k_models"] = {moved(path): score for path, score in state["best_k_models"].items()}
