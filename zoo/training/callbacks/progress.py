"""The progress of a run: a bar on a terminal, occasional lines elsewhere."""

import logging
import time
from datetime import timedelta
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.callbacks.progress.rich_progress import CustomTimeColumn, ProcessingSpeedColumn
from rich import get_console
from rich.progress import BarColumn

from zoo.core.readable import readable
from zoo.training.callbacks.pace import Pace
from zoo.training.short_epochs import warn_of_short_epochs

log = logging.getLogger(__name__)

_TIME = 11
"""The width of the time before each line on a terminal."""


class Progress(RichProgressBar):
    """Shows the loss, the speed in the task's unit and the time left of the whole fit.

    Every validation is one line in the log. Without a terminal there is no bar but an occasional line.

    Args:
        seconds: between two lines without a terminal.
    """

    def __init__(self, *, seconds: float = 30.0) -> None:
        super().__init__(refresh_rate=4)
        if not get_console().is_terminal:
            self.disable()
        self._lines = self.is_disabled
        self._seconds = seconds
        self._last_line = self._last_metrics = -float("inf")
        self._pace = Pace()
        self._shown: dict[str, Any] = {}

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts to measure; warns where a training is too short for its loss to be logged."""
        super().on_train_start(trainer, pl_module)
        steps = trainer.estimated_stepping_batches
        every = trainer.log_every_n_steps  # type: ignore[attr-defined]
        if trainer.loggers and trainer.is_global_zero and steps < every:
            log.info(
                "train/loss is logged every %d steps and this training has %.0f, so it is never logged: take "
                "trainer.log_every_n_steps=1 to have it",
                *(every, steps),
            )
        warn_of_short_epochs(trainer)
        self._pace.start(trainer)
        self._last_line = time.monotonic()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Moves the bar, or logs a line."""
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        if self._line_is_due(trainer):
            total = trainer.estimated_stepping_batches
            shown = "  ".join(f"{name} {value}" for name, value in self._metrics(trainer).items())
            of_total = f"/{total:.0f}" if total != float("inf") else ""
            log.info("step %d%s  epoch %d  %s", trainer.global_step, of_total, trainer.current_epoch, shown)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Shows the epoch's last values, which stay during the validation."""
        self._last_metrics = -float("inf")
        super().on_train_epoch_end(trainer, pl_module)

    def on_test_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Moves the bar, or logs a line."""
        super().on_test_batch_end(trainer, pl_module, outputs, batch, batch_idx, dataloader_idx)
        if self._line_is_due(trainer):
            total = trainer.num_test_batches[dataloader_idx]
            log.info("test set %d: %d/%.0f batches", dataloader_idx, batch_idx + 1, total)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Logs the metric that picks the checkpoint, and as many others as fit into the line."""
        super().on_validation_end(trainer, pl_module)
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        monitor = getattr(trainer.checkpoint_callback, "monitor", None)
        values = {name: float(v) for name, v in trainer.callback_metrics.items() if name.startswith("val/")}
        telling = [f"val/{name}" for name in getattr(pl_module, "telling", ())] or sorted(values)
        names = [name for name in dict.fromkeys((monitor, *telling)) if name in values]
        said = [f"step {trainer.global_step}", f"epoch {trainer.current_epoch}"]
        said += [f"{name} {readable(values[name])}" for name in names[:1]]
        said += [f"{name.removeprefix('val/')} {readable(values[name])}" for name in names[1:]]
        log.info("%s", _fitting(said))

    def get_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> dict[str, Any]:
        """The values behind the bar, read at most twice a second, because reading waits for the device."""
        now = time.monotonic()
        if now - self._last_metrics >= 0.5:
            self._last_metrics = now
            self._shown = self._metrics(trainer)
        return self._shown

    def configure_columns(self, trainer: pl.Trainer) -> list[Any]:
        """Lightning's columns without those about a single epoch."""
        columns = super().configure_columns(trainer)
        for column in columns:
            if isinstance(column, BarColumn):
                column.bar_width = 20  # so that all fits into 80 columns
        of_epoch = (CustomTimeColumn, ProcessingSpeedColumn)
        return [column for column in columns if not isinstance(column, of_epoch)]

    def _get_train_description(self, current_epoch: int) -> str:
        """Lightning's words, but for a training without a number of epochs, of which it says `Epoch 1/-2`."""
        said: str = super()._get_train_description(current_epoch)
        return said if (self.trainer.max_epochs or 0) > 0 else said.replace("/-2", "")

    def _metrics(self, trainer: pl.Trainer) -> dict[str, str]:
        shown: dict[str, str] = {}
        values = trainer.callback_metrics
        if (loss := getattr(trainer.lightning_module, "terms", {}).get("loss")) is not None:
            shown["loss"] = f"{float(loss):.3f}"
        unit = getattr(trainer.lightning_module, "unit", "items")
        if (speed := values.get(f"train/{unit}_per_second")) is not None:
            shown[f"{unit}/s"] = f"{float(speed):,.0f}"
        left = self._pace.seconds_left(trainer)
        if left is not None:
            shown["left"] = str(timedelta(seconds=round(left)))
        return shown

    def _line_is_due(self, trainer: pl.Trainer) -> bool:
        now = time.monotonic()
        if not self._lines or not trainer.is_global_zero or now - self._last_line < self._seconds:
            return False
        self._last_line = now
        return True


def _fitting(parts: list[str]) -> str:
    """A line of the first three parts and as many of the others as fit."""
    console = get_console()
    room = console.width - _TIME * console.is_terminal
    line = "  ".join(parts[:3])
    for part in parts[3:]:
        if len(longer := f"{line}  {part}") <= room:
            line = longer
    return line
