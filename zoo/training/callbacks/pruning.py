"""Ends a training early that promises less than the other trials of its study."""

from collections.abc import Callable

import lightning.pytorch as pl
from lightning.pytorch import Callback


class Pruned(Exception):
    """A trial's training was ended, because others were better at the same step."""


class Pruning(Callback):
    """Raises `Pruned` in the first step after a validation that left no hope.

    Until then the checkpoint and the records of that validation have been written; a training whose last
    validation it was simply ends.

    Args:
        monitor: the metric of validation by which trials are compared.
        hopeless: is told its value and the training step, and says whether the training shall end. Of several
            processes the first one asks.
    """

    def __init__(self, *, monitor: str, hopeless: Callable[[float, int], bool]) -> None:
        self._monitor, self._hopeless = monitor, hopeless
        self._reason: str | None = None

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Asks whether there is hope."""
        if trainer.sanity_checking:
            return
        value, step = float(trainer.callback_metrics[self._monitor]), trainer.global_step
        hopeless = trainer.is_global_zero and self._hopeless(value, step)
        if trainer.strategy.broadcast(hopeless):
            self._reason = f"{self._monitor} was {value:.4g} at step {step:,}, and other trials were better"

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Ends the training, if that was the answer."""
        if self._reason is not None:
            raise Pruned(self._reason)
