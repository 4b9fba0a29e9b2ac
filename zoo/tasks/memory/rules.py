"""What the task requires of a configuration."""

from collections.abc import Iterator

from zoo.core.problems import Problem
from zoo.tasks.rules import Configured


def nothing_is_sampled(configured: Configured) -> Iterator[Problem]:
    """The task has no term for sampled readings."""
    if configured.samples:
        yield Problem(
            "selection", "samples its readings, which nothing trains in this task; take gumbel_hard, or soft"
        )
