"""What each job of a sweep counts in an optimisation."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from zoo.config.sweep_settings import sweep_settings
from zoo.core.reading import read_json
from zoo.runs.status import State, status_of
from zoo.sweeps.begin import maximises
from zoo.sweeps.record import SweepJob


def objectives(jobs: Sequence[SweepJob]) -> dict[Path, float]:
    """The best validation metric of each job, always a finite number.

    A job that reached none (it diverged, failed, was killed) counts `sweep.worst`, by default the worst value
    of the others. Without any other it is 0 where more is better, as all such metrics are, else the largest
    number there is.

    Returns:
        The value, by the job's folder.
    """
    reached = {job.folder: _value(job) for job in jobs}
    values = [value for value in reached.values() if value is not None]
    more = maximises(jobs[0].config)
    worst = sweep_settings(jobs[0].config).worst
    if worst is None:
        worst = (min if more else max)(values, default=0.0 if more else sys.float_info.max)
    return {folder: worst if value is None else value for folder, value in reached.items()}


def chosen(folder: Path) -> tuple[str, float] | None:
    """Name and value of the metric that picked a finished run's checkpoint; None when there is none."""
    try:
        checkpoint = read_json(folder / "results.json")["checkpoint"]
        name, value = checkpoint["metric"], checkpoint["value"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (str(name), float(value)) if isinstance(value, int | float) else None


def _value(job: SweepJob) -> float | None:
    best = chosen(job.folder) if status_of(job.folder).state is State.FINISHED else None
    return best[1] if best is not None and math.isfinite(best[1]) else None
