"""Compiles the network of a training, and says what that took."""

import logging
from collections import Counter

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.runtime.compiling import compilations, compile_in_place

log = logging.getLogger(__name__)


class Compiling(Callback):
    """Lets the network be compiled while it trains; tests and predictions run it as it is."""

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Before a training: what is compiled then is compiled by its first steps."""
        if stage == "fit":
            compile_in_place(pl_module.network)  # type: ignore[arg-type]
            if trainer.is_global_zero:
                log.info("the network is compiled by the first steps, which take up to minutes for that")

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Says how much was compiled, and why more than once."""
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
                    "compile: %s was compiled %d times, and then no more: it runs as it is wherever something"
                    " is again not as it was. Last that was: %s",
                    *(refused.method, times[refused.method], refused.changed),
                )
