"""The learning rates at which a model learns (Smith 2017, section 3.3)."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch import Callback
from torch import nn
from torch.optim import SGD
from torch.optim.lr_scheduler import LambdaLR

from zoo.training.callbacks import Progress
from zoo.training.schedules import Vaswani

_MEMORY = 0.9
"""Of the moving average of losses."""
_BROKEN_OFF = 4.0
"""Times the least loss, where the test ends."""
_CLEAR = 0.01
"""The share of the first loss by which it must fall."""


class RateTest(NamedTuple):
    """Losses of a training whose rate rises at every step.

    Attributes:
        rates: of each step, the lowest first; fewer than were asked for where the loss broke off.
        losses: a moving average of the training loss, without its bias towards zero.
        steepest: the rate at which the loss falls fastest over the logarithm of the rate, a tried rate for a
            training; None where it never falls.
        setting: `optimizer.lr` for a schedule whose highest rate is `steepest`.
    """

    rates: list[float]
    losses: list[float]
    steepest: float | None
    setting: float | None


def rate_test(
    task: Any,
    data: pl.LightningDataModule,
    trainer: Callable[..., pl.Trainer],
    *,
    lowest: float,
    highest: float,
    steps: int,
) -> RateTest:
    """Trains for some steps while the rate rises exponentially; writes nothing.

    Args:
        task: untrained; its own schedule is put aside.
        data: its batches.
        trainer: completed here; its own budget is put aside.
        lowest: the first step's rate.
        highest: the last step's rate.
        steps: how many, at least 10.

    Raises:
        ValueError: the range is empty or the steps are too few.
    """
    if not 0.0 < lowest < highest < math.inf:
        raise ValueError(
            "the lowest rate must be above 0 and below the highest, which must be finite,"
            f" got {lowest} and {highest}"
        )
    if steps < 10:
        raise ValueError(f"steps must be at least 10, got {steps}")
    optimizer, schedule, watch = task.optimizer, task.scheduler, _Watch()
    task.optimizer = partial(optimizer, lr=1.0)
    task.tests_rates = True
    task.scheduler = partial(LambdaLR, lr_lambda=_rising(lowest, highest, steps))
    trainer(
        **{"max_steps": steps, "max_epochs": -1, "max_time": None, "limit_val_batches": 0},
        logger=False,
        enable_checkpointing=False,
        callbacks=[watch, Progress()],
    ).fit(task, datamodule=data)
    steepest = _steepest(watch.rates, watch.losses)
    setting = None if steepest is None else steepest / _highest_factor(schedule)
    return RateTest(watch.rates, watch.losses, steepest, setting)


class _Watch(Callback):
    """Keeps rates and losses; ends the fit where the loss breaks off."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.losses: list[float] = []
        self._average = 0.0

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Keeps the rate of the step that comes."""
        self.rates.append(float(optimizer.param_groups[0]["lr"]))

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: object) -> None:
        """Keeps the loss of a step, which was computed before it."""
        if len(self.losses) == len(self.rates):  # a part of a batch
            return
        self._average = _MEMORY * self._average + (1.0 - _MEMORY) * float(pl_module.terms["loss"])
        self.losses.append(self._average / (1.0 - _MEMORY ** len(self.rates)))
        best = min(self.losses)  # below 0 where a reward is learned from
        broken_off = best + (_BROKEN_OFF - 1) * max(abs(best), 1e-9)
        if not np.isfinite(self.losses[-1]) or self.losses[-1] > broken_off:
            trainer.should_stop = True


def _rising(lowest: float, highest: float, steps: int) -> Callable[[int], float]:
    return lambda done: float(lowest * (highest / lowest) ** (done / (steps - 1)))


def _steepest(rates: list[float], losses: list[float]) -> float | None:
    """Where the loss falls fastest, before its least value; None where that is no clear fall."""
    if not np.isfinite(losses[0]):
        return None
    end = int(np.nanargmin(losses)) + 1
    if end < 3 or losses[end - 1] > losses[0] - _CLEAR * abs(losses[0]):
        return None
    slopes = np.gradient(losses, np.log(rates[: len(losses)]))  # of all, so that the least loss has two sides
    return rates[int(np.argmin(slopes[:end]))]


def _highest_factor(schedule: Callable[..., Any] | None) -> float:
    """What a schedule makes of a rate of 1 at its highest."""
    if schedule is None:
        return 1.0
    made = schedule(SGD([nn.Parameter(torch.zeros(()))], lr=1.0))
    return made.factor(made.warmup_steps - 1) if isinstance(made, Vaswani) else 1.0
