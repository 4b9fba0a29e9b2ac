"""A validation at the end of every training."""

import lightning.pytorch as pl
from lightning.pytorch import Callback


class FinalValidation(Callback):
    """Validates after the last step of a budget in steps, epochs or time, where Lightning would just stop."""

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Moves behind the trainer's timer, so that the step at which time is up is known to be the last."""
        # A new list: the trainer is going through the old one.
        others = [one for one in trainer.callbacks if one is not self]  # type: ignore[attr-defined]
        trainer.callbacks = [*others, self]  # type: ignore[attr-defined]  # it is there, but not declared

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Refuses an interval that is longer than an epoch.

        Raises:
            ValueError: intervals are counted within each epoch, and an epoch has fewer batches.
        """
        interval, limit = trainer.val_check_interval, trainer.limit_train_batches
        if not isinstance(interval, int) or trainer.check_val_every_n_epoch is None:
            return
        batches = len(trainer.fit_loop._data_source.dataloader())
        batches = min(batches, limit) if isinstance(limit, int) else int(batches * limit)
        if interval > batches:
            raise ValueError(f"trainer.val_check_interval: {longer_than_epoch(interval, batches)}")

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For a run that was stopped in the validation after its last epoch."""
        self._validate_behind_last_batch(trainer)

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Requests a validation after the last step."""
        if trainer.global_step == trainer.max_steps:
            trainer.should_stop = True  # which implies a validation first
        if trainer.should_stop and trainer.fit_loop._can_stop_early:
            _validate_every_epoch(trainer)
        self._validate_behind_last_batch(trainer)

    @staticmethod
    def _validate_behind_last_batch(trainer: pl.Trainer) -> None:
        """Requests a validation after the last batch of the last epoch."""
        if trainer.current_epoch + 1 == trainer.max_epochs:
            _validate_every_epoch(trainer)
            if trainer.is_last_batch:
                trainer.val_check_batch = 1


def _validate_every_epoch(trainer: pl.Trainer) -> None:
    if trainer.check_val_every_n_epoch is not None:  # else validations are counted in batches
        trainer.check_val_every_n_epoch = 1


def longer_than_epoch(interval: int, batches: int) -> str:
    """The message for a `trainer.val_check_interval` that is longer than an epoch."""
    return (
        f"{interval} batches between validations are counted within an epoch, which has {batches}: take at "
        f"most {batches}, or trainer.check_val_every_n_epoch=null, which counts them across epochs"
    )
