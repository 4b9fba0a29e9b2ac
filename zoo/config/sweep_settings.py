"""How the jobs of a sweep are run: the `sweep` mapping of a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """What `sweep.*` on the command line sets.

    Attributes:
        name: groups the runs of a sweep; None for a single run.
        parallel: how many jobs run at once.
        fail_fast: stop the sweep when a job fails; else the others go on.
        jobs_per_gpu: how many jobs share one GPU.
        worst: what a trial that failed or diverged counts in an optimisation; None for nothing.
    """

    name: str | None = None
    parallel: int = 1
    fail_fast: bool = False
    jobs_per_gpu: int = 1
    worst: float | None = None


def sweep_settings(config: Mapping[str, Any]) -> SweepSettings:
    """The settings in a resolved configuration that has been checked."""
    return SweepSettings(**config["sweep"])
