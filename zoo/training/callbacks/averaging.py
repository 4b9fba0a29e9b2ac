"""Averaging of checkpoints (Vaswani et al. 2017, section 6.1)."""

from collections.abc import Callable
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback
from torch import Tensor

Weights = dict[str, Tensor]

_KEY = "trained_weights"


class CheckpointAveraging(Callback):
    """Validates, keeps and tests the mean of the weights at the last validations; the paper takes 5 or 20.

    Training goes on with its own weights. The paper averages checkpoints that were written every ten minutes.
    `last.ckpt` holds all averaged weights, the final best.ckpt the mean alone.

    Args:
        checkpoints: how many are averaged, at least 2; fewer while there are not so many.

    Raises:
        ValueError: there is nothing to average.
    """

    def __init__(self, *, checkpoints: int) -> None:
        if checkpoints < 2:
            raise ValueError(f"checkpoints must be at least 2, got {checkpoints}")
        self.checkpoints = checkpoints
        self._kept: dict[int, Weights] = {}  # by step, the oldest first
        self._mean: Weights | None = None  # until training goes on
        self._trained: Weights | None = None  # while the mean is in the model's place

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Loads the mean into the model."""
        if trainer.state.fn != "fit" or trainer.sanity_checking:
            return
        self._trained = _copied(pl_module.state_dict(keep_vars=True))
        self._kept[trainer.global_step] = self._trained  # a repeated validation counts once
        for step in sorted(self._kept)[: -self.checkpoints]:
            del self._kept[step]
        self._mean = _mean(list(self._kept.values()))
        pl_module.load_state_dict(self._mean)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Loads the model's own weights again."""
        if self._trained is not None:
            pl_module.load_state_dict(self._trained)
            self._trained = None

    def on_train_batch_start(self, *_: object) -> None:
        """From now on a checkpoint belongs to no validation."""
        self._mean = None

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """A validation's checkpoint has the mean, and beside it the weights to go on with."""
        if self._mean is not None:
            checkpoint[_KEY] = _copied(self._trained or pl_module.state_dict(keep_vars=True))
            checkpoint["state_dict"] = self._mean

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Training goes on with its own weights."""
        if trainer.state.fn == "fit" and _KEY in checkpoint:
            pl_module.load_state_dict(checkpoint[_KEY])

    def state_dict(self) -> dict[str, Any]:
        """The weights of the next mean."""
        return {"kept": self._kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores them."""
        self._kept = dict(state_dict["kept"])


def _copied(weights: Weights) -> Weights:
    """A copy in the host's memory."""
    return _each_once(weights, lambda name: weights[name].detach().to("cpu", copy=True))


def _mean(weights: list[Weights]) -> Weights:
    """The mean of floating-point weights, and the newest of counts."""
    newest = weights[-1]

    def mean(name: str) -> Tensor:
        numbers = newest[name].is_floating_point()
        return torch.stack([one[name] for one in weights]).mean(0) if numbers else newest[name]

    return _each_once(newest, mean)


def _each_once(weights: Weights, make: Callable[[str], Tensor]) -> Weights:
    """`make` for each name, called once for names that share a tensor, such as tied embeddings."""
    made: dict[int, Tensor] = {}
    for name, value in weights.items():
        if id(value) not in made:
            made[id(value)] = make(name)
    return {name: made[id(value)] for name, value in weights.items()}
