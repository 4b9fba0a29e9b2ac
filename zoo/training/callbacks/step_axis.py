"""The step axis of logged values."""

import lightning.pytorch as pl
from lightning.pytorch import Callback


class StepAxis(Callback):
    """Logs `trainer.global_step` as `step`, which Lightning takes for the step of whatever is logged.

    Its own count is smaller by one in training and validation than at test.
    """

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """For values of a training step; logs the epoch, too."""
        # To log at every step would take 4 % of a small network's time.
        if trainer._logger_connector.should_update_logs:
            self._log(trainer, pl_module)
            pl_module.log("epoch", float(trainer.current_epoch))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For values of an epoch."""
        self._log(trainer, pl_module)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For values of a validation."""
        self._log(trainer, pl_module)

    def on_test_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For values of a test."""
        self._log(trainer, pl_module)

    def _log(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        pl_module.log("step", float(trainer.global_step))
