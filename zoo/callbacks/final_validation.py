"""No training ends without a validation."""

import lightning.pytorch as pl
from lightning.pytorch import Callback


class FinalValidation(Callback):
    """Validates after the last step of a budget in steps: within an epoch Lightning would just stop there."""

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Asks to stop, which implies a validation first."""
        if trainer.global_step == trainer.max_steps:
            trainer.should_stop = True
