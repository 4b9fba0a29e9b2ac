"""Hydra's launcher of the zoo, for a sweeper that draws the jobs of a sweep as it goes, as Optuna's does.

Hydra finds it because it lies in its namespace package, which therefore has no __init__.py.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from zoo.config.compose import label
from zoo.config.sweep_settings import sweep_settings
from zoo.sweeps.begin import job_name, queue_jobs
from zoo.sweeps.objective import objectives
from zoo.sweeps.record import read_sweep
from zoo.sweeps.sweep import run_queued, supervised


class ZooLauncher(Launcher):
    """Runs every job in a process of its own, on this machine or as a SLURM job.

    Args:
        options: of hydra-submitit-launcher; none on this machine.
    """

    def __init__(self, **options: Any) -> None: ...

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keeps what Hydra says; the task function is not called here but by the script, in each process."""
        self._context, self._config = hydra_context, config
        self._folder = Path(config.hydra.sweep.dir)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Queues the jobs that were drawn, and runs them.

        Returns:
            For each job, what it counts in an optimisation.

        Raises:
            SystemExit: a signal ended the sweep, or a failed job did, under `sweep.fail_fast`.
        """
        setup_globals()
        load = self._context.config_loader.load_sweep_config
        composed = [load(self._config, list(overrides)) for overrides in job_overrides]
        names = [job_name(one.name, one.hydra.job.override_dirname) for one in composed]
        for one in composed:
            label(one, one.hydra.runtime.choices)
        sweep = queue_jobs(read_sweep(self._folder), composed, names)
        jobs = sweep.jobs[-len(composed) :]
        with supervised(self._folder):
            code = run_queued(Path(sys.argv[0]), sweep, jobs)
        if code > 1 or (code and sweep_settings(jobs[0].config).fail_fast):
            raise SystemExit(code)
        reached = objectives(sweep.jobs)
        return [
            _returned(one, job.folder, reached[job.folder]) for one, job in zip(composed, jobs, strict=True)
        ]


def _returned(composed: DictConfig, folder: Path, objective: float) -> JobReturn:
    returned = JobReturn(cfg=composed, working_dir=str(folder), status=JobStatus.COMPLETED)
    returned.return_value = objective
    return returned
