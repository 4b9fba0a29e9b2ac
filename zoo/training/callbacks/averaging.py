"""Means of weights over a training, which are validated in the place of the newest."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback
from torch import Tensor

Weights = dict[str, Tensor]

_KEY = "trained_weights"


class Averaging(Callback, ABC):
    """Validates, keeps and tests a mean of weights; training goes on with its own.

    `last.ckpt` holds what the mean is made of, the final best.ckpt the mean alone.
    """

    def __init__(self) -> None:
        self._mean: Weights | None = None  # until training goes on
        self._trained: Weights | None = None  # while the mean is in the model's place

    @abstractmethod
    def mean(self, step: int, trained: Weights) -> Weights:
        """The mean, in the host's memory, for the validation after `step` steps with these weights."""

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Loads the mean into the model."""
        if trainer.state.fn != "fit" or trainer.sanity_checking:
            return
        self._trained = _copied(pl_module.state_dict(keep_vars=True))
        self._mean = self.mean(trainer.global_step, self._trained)
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


class CheckpointAveraging(Averaging):
    """The mean of the weights at the last validations (Vaswani et al. 2017, section 6.1).

    The paper averages the last 5 or 20 checkpoints, which were written every ten minutes.

    Args:
        checkpoints: how many are averaged, at least 2; fewer while there are not so many.

    Raises:
        ValueError: there is nothing to average.
    """

    def __init__(self, *, checkpoints: int) -> None:
        super().__init__()
        if checkpoints < 2:
            raise ValueError(f"checkpoints must be at least 2, got {checkpoints}")
        self.checkpoints = checkpoints
        self._kept: dict[int, Weights] = {}  # by step, the oldest first

    def mean(self, step: int, trained: Weights) -> Weights:
        """See `Averaging`."""
        self._kept[step] = trained  # a repeated validation counts once
        for old in sorted(self._kept)[: -self.checkpoints]:
            del self._kept[old]
        return _mean(list(self._kept.values()))

    def state_dict(self) -> dict[str, Any]:
        """The weights of the next mean."""
        return {"kept": self._kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores them."""
        self._kept = dict(state_dict["kept"])


class ExponentialAveraging(Averaging):
    """An exponential moving average: m <- r m + (1 - r) w after each step (Polyak & Juditsky 1992).

    After t steps r is min(decay, (1 + t) / (10 + t)), so that the mean soon forgets the first weights.
    Counts, such as those of a batch norm, are the newest.

    Args:
        decay: the highest r, above 0 and below 1; the mean reaches about 1 / (1 - decay) steps back.

    Raises:
        ValueError: the decay is outside of its range.
    """

    def __init__(self, *, decay: float) -> None:
        super().__init__()
        if not 0.0 < decay < 1.0:
            raise ValueError(f"decay must be above 0 and below 1, got {decay}")
        self.decay = decay
        self._moving: Weights = {}
        self._steps = 0

    @torch.no_grad()
    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Moves the mean, where the batch ended a step of the optimiser."""
        if trainer.global_step == self._steps:
            return
        self._steps = trainer.global_step
        weights = pl_module.state_dict(keep_vars=True)
        weights = {name: value for name, value in weights.items() if value.is_floating_point()}
        if not self._moving:
            self._moving = _each_once(weights, lambda name: weights[name].detach().clone())
            return
        moving = self._moving  # from a checkpoint in the host's memory
        self._moving = _each_once(moving, lambda name: moving[name].to(weights[name].device))
        once = {id(value): name for name, value in weights.items()}.values()
        share = max(1.0 - self.decay, 9.0 / (10.0 + self._steps))
        torch._foreach_lerp_([self._moving[name] for name in once], [weights[name] for name in once], share)

    def mean(self, step: int, trained: Weights) -> Weights:
        """See `Averaging`."""
        return trained | _copied(self._moving)

    def state_dict(self) -> dict[str, Any]:
        """The mean, and the steps that it has seen."""
        return {"moving": self._moving, "steps": self._steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores them."""
        self._moving, self._steps = dict(state_dict["moving"]), state_dict["steps"]


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
