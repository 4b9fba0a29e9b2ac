"""Learning rates over the steps of a training; each scales the optimiser's `lr`, the highest rate."""

import math
from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


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


class WarmupCosine(LambdaLR):
    """Rises linearly, then falls along half a cosine (Loshchilov & Hutter 2017, without restarts).

    It would be zero one step after the last.

    Args:
        optimizer: its `lr` is the highest rate.
        warmup_steps: the steps of the rise, which may be 0.
        total_steps: all steps of the training.

    Raises:
        ValueError: warmup_steps is negative, or total_steps does not exceed it.
    """

    def __init__(self, optimizer: Optimizer, *, warmup_steps: int, total_steps: int) -> None:
        def fall(passed: int, length: int) -> float:
            return 0.5 * (1.0 + math.cos(math.pi * min(1.0, passed / length)))

        super().__init__(optimizer, _risen_and(fall, "a cosine", warmup_steps, total_steps))


class WarmupLinear(LambdaLR):
    """Rises linearly, then falls linearly, to zero one step after the last (Devlin et al. 2019, A.2).

    Args:
        optimizer: its `lr` is the highest rate.
        warmup_steps: the steps of the rise, which may be 0.
        total_steps: all steps of the training.

    Raises:
        ValueError: warmup_steps is negative, or total_steps does not exceed it.
    """

    def __init__(self, optimizer: Optimizer, *, warmup_steps: int, total_steps: int) -> None:
        def fall(passed: int, length: int) -> float:
            return max(0.0, (length - passed) / length)

        super().__init__(optimizer, _risen_and(fall, "the rate", warmup_steps, total_steps))


def _risen_and(
    fall: Callable[[int, int], float], what: str, warmup_steps: int, total_steps: int
) -> Callable[[int], float]:
    """A factor of the rate by the steps that are done: it rises linearly, then falls.

    Args:
        fall: the factor, so many steps behind the highest rate, of so many to the step after the last.
        what: ends at a known step, for messages.
        warmup_steps: the steps of the rise, which may be 0.
        total_steps: all steps of the training.

    Raises:
        ValueError: warmup_steps is negative, or total_steps does not exceed it.
    """
    if warmup_steps < 0:
        raise ValueError(f"warmup_steps must be at least 0, got {warmup_steps}")
    if total_steps <= warmup_steps:
        raise ValueError(
            f"total_steps must exceed scheduler.warmup_steps={warmup_steps}, got {total_steps}: {what}"
            " ends at a known step; raise trainer.max_steps above it, or lower scheduler.warmup_steps"
        )
    highest = max(1, warmup_steps)

    def factor(done: int) -> float:
        step = done + 1
        return step / highest if step < highest else fall(step - highest, total_steps + 1 - highest)

    return factor
