"""Everything that is looked at before the first job of a command line runs."""

import json
from collections.abc import Sequence

from zoo.config.check import check
from zoo.config.compose import Job
from zoo.config.disk import check_disk
from zoo.config.instantiate import instantiate
from zoo.config.sweep_rules import check_sweep
from zoo.core.problems import ConfigError, Problem
from zoo.runs.frozen import Config


def check_jobs(jobs: Sequence[Job], multirun: bool) -> None:
    """Refuses what cannot run, or cannot run here.

    Raises:
        ConfigError: a job's configuration is wrong, the disk is too small, the sweep cannot be run, or files
            of the data are missing.
    """
    for job in jobs:
        check(job.config, job.overrides)
    # An optimisation draws its jobs later; it says how many.
    trials = int(jobs[0].composed.hydra.sweeper.get("n_trials") or 1) if multirun else 1
    check_disk([job.config for job in jobs] * trials)
    if multirun:
        check_sweep(jobs)
    check_files([job.config for job in jobs])


def check_files(configs: Sequence[Config]) -> None:
    """Refuses data whose files are missing and cannot be downloaded, or whose beginnings cannot be read.

    Args:
        configs: checked.

    Raises:
        ConfigError: names the files.
    """
    # Jobs of a sweep mostly share their data, but for the order of batches.
    described = {json.dumps({**config["data"], "seed": 0}, default=str): config for config in configs}
    for config in described.values():
        look = getattr(instantiate(config["data"], "data"), "check_files", None)
        try:
            if look is not None:
                look()
        except (FileNotFoundError, ValueError) as error:
            raise ConfigError([Problem("data", str(error))]) from error
