"""Learning rates over the steps of a training; each scales the optimiser's `lr`, the highest rate."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, ReduceLROnPlateau


class WarmupConstant(LambdaLR):
    """Rises linearly, then stays constant.

    Args:
        optimizer: its `lr` is the constant rate.
        warmup_steps: the steps of the rise, which may be 0.

    Raises:
        ValueError: the number of steps is negative.
    """

    def __init__(self, optimizer: Optimizer, *, warmup_steps: int) -> None:
        if warmup_steps < 0:
            raise ValueError(f"warmup_steps must be at least 0, got {warmup_steps}")

        super().__init__(optimizer, lambda done: min(1.0, (done + 1) / max(1, warmup_steps)))


class WarmupInverseSquareRoot(LambdaLR):
    """`lr * min(t / w, sqrt(w / t))` at t = 1, 2, ...: rises linearly, then falls with the root of the step.

    Args:
        optimizer: its `lr` is the rate at step w.
        warmup_steps: w, at least 1.

    Raises:
        ValueError: the warm-up has no step.
    """

    def __init__(self, optimizer: Optimizer, *, warmup_steps: int) -> None:
        if warmup_steps < 1:
            raise ValueError(f"warmup_steps must be at least 1, got {warmup_steps}")
        self.warmup_steps = warmup_steps
        super().__init__(optimizer, self.factor)

    def factor(self, done: int) -> float:
        """The factor of the optimiser's `lr` after that many steps."""
        step = done + 1
        return min(step / self.warmup_steps, math.sqrt(self.warmup_steps / step))


class Vaswani(WarmupInverseSquareRoot):
    """`lr * d^-0.5 * min(t^-0.5, t * w^-1.5)` at t = 1, 2, ... (Vaswani et al. 2017, section 5.3, eq. 3).

    `WarmupInverseSquareRoot` with a highest rate of `(d w)^-0.5`.

    Args:
        optimizer: its `lr` scales the rate; 1 in the paper.
        model_size: d.
        warmup_steps: w; 4,000 in the paper.

    Raises:
        ValueError: a number is below 1.
    """

    def __init__(self, optimizer: Optimizer, *, model_size: int, warmup_steps: int) -> None:
        if model_size < 1:
            raise ValueError(f"model_size must be at least 1, got {model_size}")
        self.model_size = model_size
        super().__init__(optimizer, warmup_steps=warmup_steps)

    def factor(self, done: int) -> float:
        """See `WarmupInverseSquareRoot`."""
        return super().factor(done) / math.sqrt(self.model_size * self.warmup_steps)


class Falling(LambdaLR, ABC):
    """Rises linearly, then falls, and would end one step after the last.

    Args:
        optimizer: its `lr` is the highest rate.
        warmup_steps: the steps of the rise, which may be 0.
        total_steps: all steps of the training; -1 where only time ends it.
        spent: the share of the training's time that is over; None: steps alone end it. The rate is that of
            the share of steps or of time, whichever is larger.

    Raises:
        ValueError: warmup_steps is negative, or total_steps does not exceed it.
    """

    end: ClassVar[str]
    """What ends at a known step, for messages."""

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        warmup_steps: int,
        total_steps: int,
        spent: Callable[[], float] | None = None,
    ) -> None:
        if warmup_steps < 0:
            raise ValueError(f"warmup_steps must be at least 0, got {warmup_steps}")
        timed = total_steps == -1 and spent is not None
        if total_steps <= warmup_steps and not timed:
            raise ValueError(
                f"total_steps must exceed scheduler.warmup_steps={warmup_steps}, got {total_steps}:"
                f" {self.end} ends at a known step; raise trainer.max_steps above it, lower"
                " scheduler.warmup_steps, or give trainer.max_time alone"
            )
        highest = max(1, warmup_steps)
        length = math.inf if timed else total_steps + 1 - highest

        # A method would be kept in checkpoints, with the clock.
        def factor(done: int) -> float:
            step = done + 1
            if step < highest:
                return step / highest
            share = (step - highest) / length
            return self.fall(share if spent is None else max(share, min(1.0, spent())))

        super().__init__(optimizer, factor)

    @staticmethod
    @abstractmethod
    def fall(share: float) -> float:
        """The factor of the rate after a share of the fall, from 1 at 0 to 0 at 1."""


class WarmupCosine(Falling):
    """Rises linearly, then falls along half a cosine (Loshchilov & Hutter 2017, without restarts)."""

    end = "a cosine"

    @staticmethod
    def fall(share: float) -> float:
        """See `Falling`."""
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, share)))


class WarmupLinear(Falling):
    """Rises linearly, then falls linearly (Devlin et al. 2019, A.2)."""

    end = "the rate"

    @staticmethod
    def fall(share: float) -> float:
        """See `Falling`."""
        return max(0.0, 1.0 - share)


def complete(
    schedule: Callable[..., LRScheduler | ReduceLROnPlateau],
    optimizer: Optimizer,
    spent: Callable[[], float] | None,
) -> LRScheduler | ReduceLROnPlateau:
    """The schedule of an optimiser.

    Args:
        schedule: lacks the optimiser.
        optimizer: sets the rate.
        spent: see `Falling`; other schedules do not ask for it.
    """
    made = schedule.func if isinstance(schedule, partial) else schedule
    falls = isinstance(made, type) and issubclass(made, Falling)
    return schedule(optimizer, spent=spent) if falls else schedule(optimizer)
