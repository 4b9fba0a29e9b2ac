"""The checkpoint of the best validation."""

import logging
from functools import cached_property
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau

from zoo.training.callbacks.monitored import SeenMetrics, Unchanged

log = logging.getLogger(__name__)

_EARLY = 3
"""Validations after which a monitor that has not changed is warned of, in time to stop the training."""


class BestCheckpoint(ModelCheckpoint):
    """Keeps the checkpoint of the best validation; of equally good ones the newest.

    Lightning keeps the oldest, which is the least trained model where the metric never changes. (BLEU is 0
    until four words in a row are right.) The log warns of such a metric. Arguments are Lightning's.

    Attributes:
        unchanged: describes a monitor that never changed; None for one that did.
    """

    unchanged: Unchanged | None = None

    @cached_property
    def _seen(self) -> SeenMetrics:
        return SeenMetrics()

    def check_monitor_top_k(self, trainer: pl.Trainer, current: Tensor | None = None) -> bool:
        """Whether a validation is among the best, or equals the worst of them."""
        better = super().check_monitor_top_k(trainer, current)
        if better or current is None or self.save_top_k == 0:
            return better
        equal = bool(current == self.best_k_models[self.kth_best_model_path])
        return bool(trainer.strategy.reduce_boolean_decision(equal))

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves the checkpoint if it is the best, and warns early of a monitor that does not change."""
        if trainer.state.fn == "fit" and not trainer.sanity_checking and self.monitor is not None:
            self._record(trainer, pl_module, self.monitor)
        super().on_validation_end(trainer, pl_module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Warns of a monitor that never changed."""
        super().on_train_end(trainer, pl_module)
        self._update_unchanged(pl_module)  # a resumed run may have nothing left to do but this
        if self.unchanged:
            log.warning("%s; the newest checkpoint was kept", self.unchanged)

    def state_dict(self) -> dict[str, Any]:
        """Lightning's state, and which metrics have changed."""
        return {**super().state_dict(), "seen": self._seen.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores them."""
        super().load_state_dict(state_dict)
        self._seen.load_state_dict(state_dict["seen"])

    def _record(self, trainer: pl.Trainer, pl_module: pl.LightningModule, monitor: str) -> None:
        """Records a validation's metrics."""
        before = self._seen.validations
        values = trainer.callback_metrics.items()
        self._seen.add(
            trainer.global_step, {name: float(value) for name, value in values if name.startswith("val/")}
        )
        self._update_unchanged(pl_module)
        if self.unchanged and self.unchanged.instead and before < self._seen.validations == _EARLY:
            log.warning("%s%s", self.unchanged, _also_watched_by(trainer, monitor))

    def _update_unchanged(self, pl_module: pl.LightningModule) -> None:
        others = (f"val/{name}" for name in getattr(pl_module, "telling", ()))
        self.unchanged = self._seen.unchanged(self.monitor, others) if self.monitor else None


def _also_watched_by(trainer: pl.Trainer, monitor: str) -> str:
    """What else waits for the monitor to improve, as the end of the warning."""
    waiting = []
    if any(isinstance(one.scheduler, ReduceLROnPlateau) for one in trainer.lr_scheduler_configs):
        waiting.append("the schedule lowers the learning rate")
    stops = (one for one in trainer.callbacks if isinstance(one, EarlyStopping))  # type: ignore[attr-defined]
    if any(one.monitor == monitor for one in stops):
        waiting.append("EarlyStopping ends the training")
    return f"; until then {' and '.join(waiting)}, as if nothing were learned" if waiting else ""
