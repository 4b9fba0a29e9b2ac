"""Stops a run whose numbers are no longer numbers, before it saves them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback
from torch import Tensor


class Diverged(RuntimeError):
    """The loss or the weights became NaN or infinite.

    Attributes:
        step: the training step after which this was so.
    """

    def __init__(self, what: str, step: int) -> None:
        super().__init__(
            f"training diverged: {what} not finite at step {step}; the last checkpoint is from before. "
            "Try a lower learning rate, a longer warm-up or tighter gradient clipping"
        )
        self.step = step


class _Flag(NamedTuple):
    step: int
    finite: Tensor
    copied: torch.cuda.Event | None


class DivergenceGuard(Callback):
    """Raises `Diverged` within one step, and lets no checkpoint be written of a state that is not finite.

    The flag is computed on the device and copied without waiting; it is read one step later, when it has long
    arrived, so that the device never waits for the host. Before a validation or a checkpoint it is read at
    once.
    """

    def __init__(self) -> None:
        self._flag: _Flag | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Forgets another fit's flag."""
        self._flag = None

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: object
    ) -> None:
        """Reads the previous step's flag and raises this step's."""
        previous = self._flag
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        self._flag = None if loss is None else _raise_flag(loss, trainer.global_step)
        _read(previous)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves the time of validating NaNs."""
        self._read_now()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The last step has no step after it."""
        self._read_now()

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Refuses to save what is not finite: a finite loss can still have had a NaN gradient."""
        self._read_now()
        weights = [value for value in checkpoint["state_dict"].values() if value.is_floating_point()]
        if not all(weight.isfinite().all() for weight in weights):
            raise Diverged("weights are", trainer.global_step)

    def _read_now(self) -> None:
        flag, self._flag = self._flag, None
        _read(flag)


def _raise_flag(loss: Tensor, step: int) -> _Flag:
    finite = loss.detach().isfinite().all()
    copied = None
    if finite.is_cuda:
        finite = finite.to("cpu", non_blocking=True)  # into pinned memory: valid once the event has happened
        copied = torch.cuda.Event()
        copied.record()
    return _Flag(step, finite, copied)


def _read(flag: _Flag | None) -> None:
    if flag is None:
        return
    if flag.copied is not None:
        flag.copied.synchronize()
    if not flag.finite:
        raise Diverged("the loss is", flag.step)
