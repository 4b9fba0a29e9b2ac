"""Everything that is looked at before the first job of a command line runs."""

import json
from collections.abc import Sequence
from typing import Any

from omegaconf import OmegaConf

from zoo.config.check import check
from zoo.config.compose import Job
from zoo.config.disk import check_disk
from zoo.config.search import STUDY
from zoo.config.study import study_settings
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
    if multirun:
        check_sweep(jobs)
    if multirun and jobs[0].composed.hydra.runtime.choices["hydra/sweeper"] == STUDY:
        sweeper = OmegaConf.to_container(jobs[0].composed.hydra.sweeper, resolve=True)
        trials = study_settings(sweeper, jobs[0].config["seed"]).trials  # type: ignore[arg-type]
        check_disk([jobs[0].config] * trials, [max(parameters)] * trials)
    else:
        check_disk([job.config for job in jobs], parameters)
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
