"""Stops a run whose loss or weights are no longer finite, before it saves them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback
from torch import Tensor

from zoo.core.batch import Batch

_SHOWN = 20
"""Items that a message names; `Diverged.items` has all."""


class Diverged(RuntimeError):
    """The loss or the weights became NaN, infinite or too large.

    Attributes:
        step: the training step after which this was so.
        items: the numbers of the items of that step's batch.
    """

    def __init__(self, what: str, step: int, items: Sequence[int] = (), noun: str = "items") -> None:
        shown = ", ".join(str(item) for item in items[:_SHOWN])
        more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
        batch = f", on the batch of training {noun} {shown}{more}" if items else ""
        super().__init__(
            f"training diverged: {what} at step {step}{batch}; the last checkpoint is from before. "
            "Try a lower learning rate, a longer warm-up or tighter gradient clipping"
        )
        self.step, self.items = step, list(items)


class _CopiedLoss(NamedTuple):
    """A loss that is being copied to the host, which has happened when `copied` has."""

    step: int
    loss: Tensor
    items: Tensor | None
    noun: str
    copied: torch.cuda.Event | None


class DivergenceGuard(Callback):
    """Raises `Diverged` within one step, and prevents checkpoints of a state that is not finite.

    The loss is copied without waiting and checked one step later, so that the device never waits for the
    host; before a validation or a checkpoint it is checked at once. Several processes check the mean of
    their losses, and the message names no items.

    Args:
        largest_loss: a larger loss has diverged, too.

    Raises:
        ValueError: the largest loss is not positive.
    """

    def __init__(self, *, largest_loss: float = 1e4) -> None:
        if not largest_loss > 0:
            raise ValueError(f"largest_loss must be positive, got {largest_loss}")
        self._largest_loss = largest_loss
        self._loss: _CopiedLoss | None = None
        self._items: Tensor | None = None
        self._noun = "items"

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Drops the state of another fit."""
        self._loss = self._items = None

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Checks the previous step's loss and begins to copy this step's."""
        previous, self._items = self._loss, batch.index
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if loss is not None and trainer.world_size > 1:  # so that all processes end together
            loss = trainer.strategy.reduce(loss.detach().clone(), reduce_op="mean")
            self._items = None
        self._noun = getattr(pl_module, "noun", "items")
        self._loss = None if loss is None else _copied(loss, self._items, trainer.global_step, self._noun)
        _check(previous, self._largest_loss)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Checks the last step before a validation."""
        self._check_now()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Checks the last step, which has no step after it."""
        self._check_now()

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Refuses to save weights that are not finite: a finite loss can have a NaN gradient."""
        self._check_now()
        weights = [value for value in checkpoint["state_dict"].values() if value.is_floating_point()]
        if not all(weight.isfinite().all() for weight in weights):
            items = [] if self._items is None else self._items.tolist()
            raise Diverged("weights are not finite", trainer.global_step, items, self._noun)

    def _check_now(self) -> None:
        copied_loss, self._loss = self._loss, None
        _check(copied_loss, self._largest_loss)


def _copied(loss: Tensor, items: Tensor | None, step: int, noun: str = "items") -> _CopiedLoss:
    loss = loss.detach().float().sum()
    copied = None
    if loss.is_cuda:
        loss = loss.to("cpu", non_blocking=True)  # into pinned memory
        copied = torch.cuda.Event()
        copied.record()
    return _CopiedLoss(step, loss, items, noun, copied)


def _check(copied_loss: _CopiedLoss | None, largest_loss: float) -> None:
    if copied_loss is None:
        return
    if copied_loss.copied is not None:
        copied_loss.copied.synchronize()
    loss = float(copied_loss.loss)
    if math.isfinite(loss) and abs(loss) <= largest_loss:
        return
    # Read only now: on a GPU this waits.
    items = [] if copied_loss.items is None else copied_loss.items.tolist()
    if not math.isfinite(loss):
        raise Diverged("the loss is not finite", copied_loss.step, items, copied_loss.noun)
    what = f"the loss is {loss:.4g}, beyond callbacks.divergence.largest_loss={largest_loss:g},"
    raise Diverged(what, copied_loss.step, items, copied_loss.noun)
