"""Everything that is looked at before the first job of a command line runs."""

import json
from collections.abc import Sequence
from typing import Any

from zoo.config.check import check
from zoo.config.compose import Job
from zoo.config.disk import check_disk
from zoo.config.sweep_rules import check_sweep
from zoo.core.problems import ConfigError, Problem


def check_jobs(jobs: Sequence[Job], multirun: bool) -> list[int]:
    """Refuses what cannot run, or cannot run here.

    Returns:
        The parameters of each job's network, with the largest vocabulary that its data may have.

    Raises:
        ConfigError: a job's configuration is wrong, the disk is too small, the sweep cannot be run, or files
            of the data are missing.
    """
    data: dict[str, Any] = {}
    parameters = []
    for job in jobs:
        checked = check(job.config, job.overrides)
        parameters.append(checked.parameters)
        # Jobs of a sweep mostly share their data, but for the order of batches.
        data.setdefault(json.dumps({**job.config["data"], "seed": 0}, default=str), checked.data)
    # An optimisation draws its jobs later; it says how many.
    trials = int(jobs[0].composed.hydra.sweeper.get("n_trials") or 1) if multirun else 1
    check_disk([job.config for job in jobs] * trials, parameters * trials)
    if multirun:
        check_sweep(jobs)
    for one in data.values():
        check_files(one, training=True)
    return parameters


def check_files(data: Any, *, training: bool = False) -> None:
    """Refuses a data module whose files are missing and cannot be downloaded, or are no files of its kind.

    Args:
        data: has `check_files`, and `check_training_files` for what only a new training needs, or neither.
        training: whether one begins.

    Raises:
        ConfigError: names the files.
    """
    try:
        for name in ("check_files", *["check_training_files"] * training):
            getattr(data, name, lambda: None)()
    except (FileNotFoundError, ValueError) as error:
        raise ConfigError([Problem("data", str(error))]) from error
