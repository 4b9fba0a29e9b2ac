"""Compiles the network for a training, and logs how long that took."""

import logging
from collections import Counter

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.runtime.compiling import compilations, compile_in_place

log = logging.getLogger(__name__)


class Compiling(Callback):
    """Compiles the network while it trains; tests and predictions run it uncompiled."""

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Marks the network's methods, which the first steps compile."""
        if stage == "fit":
            compile_in_place(pl_module.network)  # type: ignore[arg-type]
            if trainer.is_global_zero:
                log.info("the network is compiled by the first steps, which take up to minutes for that")

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Logs the compilations, and the reasons of repeated ones."""
        if not trainer.is_global_zero:
            return
        done = [one for one in compilations() if not one.refused]
        again = [f"{one.method} ({one.changed})" for one in done if one.changed]
        log.info(
            "compilations: %d in %.0f s, %d of them because something had changed%s",
            *(len(done), sum(one.seconds for one in done), len(again)),
            "".join(f"\n  {line}" for line in again),
        )
        times = Counter(one.method for one in done)
        for refused in compilations():
            if refused.refused:
                log.warning(
                    "compile: %s was compiled %d times and no more: where something has changed again, it"
                    " runs uncompiled. The last change was: %s",
                    *(refused.method, times[refused.method], refused.changed),
                )
