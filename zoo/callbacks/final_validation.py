"""No training ends without a validation."""

import lightning.pytorch as pl
from lightning.pytorch import Callback


class FinalValidation(Callback):
    """Validates after the last step of a budget in steps or epochs, whether one is due by then or not.

    Lightning would just stop there, within an epoch or behind one that is not to be validated.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A run that was left in the validation behind its last epoch finds it due again."""
        if _is_last_epoch(trainer):
            _validate_every_epoch(trainer)

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Asks to stop behind the last step, which implies a validation first."""
        ends = trainer.global_step == trainer.max_steps
        if ends:
            trainer.should_stop = True
        if ends or _is_last_epoch(trainer):
            _validate_every_epoch(trainer)


def _is_last_epoch(trainer: pl.Trainer) -> bool:
    return trainer.current_epoch + 1 == trainer.max_epochs


def _validate_every_epoch(trainer: pl.Trainer) -> None:
    if trainer.check_val_every_n_epoch is not None:  # else they are counted in batches
        trainer.check_val_every_n_epoch = 1
