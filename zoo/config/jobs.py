"""Everything that is looked at before the first job of a command line runs."""

from collections.abc import Sequence

from zoo.config.check import check
from zoo.config.compose import Job
from zoo.config.disk import check_disk
from zoo.config.sweeps import check_sweep


def check_jobs(jobs: Sequence[Job], multirun: bool) -> None:
    """Refuses what cannot run, or cannot run here.

    Raises:
        ConfigError: a job's configuration is wrong, the disk is too small, or the sweep cannot be run.
    """
    for job in jobs:
        check(job.config, job.overrides)
    # An optimisation draws its jobs later; it says how many.
    trials = int(jobs[0].composed.hydra.sweeper.get("n_trials") or 1) if multirun else 1
    check_disk([job.config for job in jobs] * trials)
    if multirun:
        check_sweep(jobs)
