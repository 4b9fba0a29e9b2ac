"""The first epoch again and again, with its order and with what is drawn to make its items."""

import lightning.pytorch as pl
from lightning.pytorch import Callback


class OneBatch(Callback):
    """Trains on the batches of the first epoch only; with `limit_train_batches: 1` on one batch."""

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Takes back what the trainer has just told the batches: which epoch it is."""
        assert trainer.train_dataloader is not None  # an epoch begins
        trainer.train_dataloader.batches.set_epoch(0)
