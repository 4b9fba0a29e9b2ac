"""One step axis for every logged value."""

import lightning.pytorch as pl
from lightning.pytorch import Callback


class StepAxis(Callback):
    """Makes `trainer.global_step` the step of whatever is logged.

    Left alone, Lightning counts one less during training and validation than at test, so that one moment has
    two names. A value logged as `step` takes the place of its count.
    """

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """For values of a training step, which also say the epoch."""
        # To log what nobody writes would take 4 % of a small network's time.
        if trainer._logger_connector.should_update_logs:
            self._log(trainer, pl_module)
            pl_module.log("epoch", float(trainer.current_epoch))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For values of a training epoch."""
        self._log(trainer, pl_module)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For values of a validation."""
        self._log(trainer, pl_module)

    def on_test_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For values of a test."""
        self._log(trainer, pl_module)

    def _log(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        pl_module.log("step", float(trainer.global_step))
