"""Learning rates step by step."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch.optim.lr_scheduler import LRScheduler

from zoo.training.schedules import (
    Falling,
    Vaswani,
    WarmupConstant,
    WarmupCosine,
    WarmupInverseSquareRoot,
    WarmupLinear,
)


def rates(schedule: Callable[..., LRScheduler], steps: int) -> list[float]:
    """The rate of each step of a training, as a share of the optimiser's."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=10.0)
    scheduler, found = schedule(optimizer), []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"] / 10.0)
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize("schedule", [WarmupCosine, WarmupLinear])
def test_a_falling_rate_follows_the_clock_where_that_is_ahead(schedule: type[Falling]) -> None:
    by_steps = rates(partial(schedule, warmup_steps=2, total_steps=11), 11)
    hurried = iter([0.0, 0.0, 0.0, 0.3, 0.5, 0.5, 0.9, 0.9, 1.0, 1.1])  # asked from the second step on
    found = rates(partial(schedule, warmup_steps=2, total_steps=11, spent=lambda: next(hurried, 1.1)), 11)
    assert found[:4] == by_steps[:4]
    assert found[4] == pytest.approx(schedule.fall(0.3))
    assert found[5] == found[6] == pytest.approx(0.5)
    assert found[7] == found[8] == pytest.approx(schedule.fall(0.9))
    assert found[9:] == pytest.approx([0, 0])


def test_time_alone_may_end_a_training_and_without_it_the_steps_are_needed() -> None:
    seconds = iter(range(10))
    schedule = partial(WarmupLinear, warmup_steps=1, total_steps=-1, spent=lambda: next(seconds) / 4)
    assert rates(schedule, 6) == pytest.approx([1, 0.75, 0.5, 0.25, 0, 0])
    with pytest.raises(ValueError, match=r"give trainer\.max_time alone"):
        rates(partial(WarmupLinear, warmup_steps=1, total_steps=-1), 1)


def test_constant() -> None:
    assert rates(partial(WarmupConstant, warmup_steps=0), 3) == [1, 1, 1]
    assert rates(partial(WarmupConstant, warmup_steps=4), 6) == [0.25, 0.5, 0.75, 1, 1, 1]


def test_inverse_square_root() -> None:
    expected = [0.5, 1, math.sqrt(2 / 3), math.sqrt(2 / 4), math.sqrt(2 / 5)]
    assert rates(partial(WarmupInverseSquareRoot, warmup_steps=2), 5) == pytest.approx(expected)


def test_vaswani_is_equation_3_of_section_5_3() -> None:
    found = rates(partial(Vaswani, model_size=512, warmup_steps=4), 10)
    expected = [512**-0.5 * min(step**-0.5, step * 4**-1.5) for step in range(1, 11)]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("warmup", "start"), [(0, [1]), (1, [1]), (3, [1 / 3, 2 / 3, 1])])
def test_cosine_wastes_no_step(warmup: int, start: list[float]) -> None:
    """Half a cosine over the steps behind the highest; zero would be the step after the last."""
    total = len(start) + 3
    falling = [0.5 * (1 + math.cos(math.pi * part / 4)) for part in (1, 2, 3)]
    found = rates(partial(WarmupCosine, warmup_steps=warmup, total_steps=total), total + 2)
    assert found == pytest.approx([*start, *falling, 0, 0])
    assert falling[-1] > 0.1


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (partial(WarmupConstant, warmup_steps=-1), "warmup_steps must be at least 0, got -1"),
        (partial(WarmupInverseSquareRoot, warmup_steps=0), "warmup_steps must be at least 1, got 0"),
        (partial(Vaswani, model_size=0, warmup_steps=1), "model_size must be at least 1, got 0"),
        (
            partial(WarmupCosine, warmup_steps=5, total_steps=5),
            r"total_steps must exceed scheduler\.warmup_steps=5, got 5: .* trainer\.max_steps",
        ),
        (partial(WarmupCosine, warmup_steps=-1, total_steps=5), "warmup_steps must be at least 0, got -1"),
        (partial(WarmupCosine, warmup_steps=5, total_steps=-1), r"got -1: .* trainer\.max_steps"),
    ],
)
def test_schedules_that_cannot_be(schedule: Callable[..., LRScheduler], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rates(schedule, 1)
