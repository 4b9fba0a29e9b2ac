"""The first epoch repeated, with its order and its random augmentation."""

import lightning.pytorch as pl
from lightning.pytorch import Callback


class OneBatch(Callback):
    """Trains on the batches of the first epoch only; with `limit_train_batches: 1` on one batch."""

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Sets the batches' epoch back to 0."""
        assert trainer.train_dataloader is not None  # an epoch begins
        trainer.train_dataloader.batches.set_epoch(0)
