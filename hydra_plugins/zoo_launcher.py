"""Hydra's launchers of the zoo: `hydra/launcher=local`, the default, and `hydra/launcher=slurm`.

Hydra finds them because they lie in its namespace package, which therefore has no __init__.py.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

from zoo.config.compose import label
from zoo.config.sweep_settings import sweep_settings
from zoo.runs.folder import create_run_folder
from zoo.runs.frozen import freeze, resolved
from zoo.sweeps.begin import label_job
from zoo.sweeps.objective import objectives
from zoo.sweeps.record import Sweep, SweepJob, read_sweep
from zoo.sweeps.sweep import run_jobs, supervised


class LocalLauncher(Launcher):
    """Runs every job in a fresh process on this machine, with its frozen configuration.

    All jobs get their folders, with status `queued`, before the first one starts.
    """

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keeps what Hydra says; the task function is not called here but by the script, in each process."""
        self._context, self._config = hydra_context, config
        self._folder = Path(config.hydra.sweep.dir)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Queues the jobs and runs them.

        Returns:
            For each job, what it counts in an optimisation.

        Raises:
            SystemExit: a signal ended the sweep, or a failed job did, under `sweep.fail_fast`.
        """
        setup_globals()
        composed = [self._compose(n, list(line)) for n, line in enumerate(job_overrides, initial_job_idx)]
        jobs = [self._queue(number, one) for number, one in enumerate(composed, initial_job_idx)]
        record = read_sweep(self._folder)
        sweep = replace(record, jobs=[*record.jobs, *jobs], options=self.options())
        sweep.write()
        with supervised(self._folder):
            code = self.run(sweep, jobs)
        if code > 1 or (code and sweep_settings(jobs[0].config).fail_fast):
            raise SystemExit(code)
        reached = objectives(sweep.jobs)
        return [_returned(one, job, reached[job.folder]) for one, job in zip(composed, jobs, strict=True)]

    def options(self) -> dict[str, Any]:
        """What sweep.json shall keep of this launcher."""
        return {}

    def run(self, sweep: Sweep, jobs: Sequence[SweepJob]) -> int:
        """Runs queued jobs; returns the exit code."""
        return run_jobs(Path(sys.argv[0]), sweep, jobs)

    def _compose(self, number: int, overrides: list[str]) -> DictConfig:
        composed = self._context.config_loader.load_sweep_config(self._config, overrides)
        with open_dict(composed):
            composed.hydra.job.id, composed.hydra.job.num = str(number), number
        label_job(composed, composed.hydra.job, self._folder.name)
        label(composed, composed.hydra.runtime.choices)
        return composed

    def _queue(self, number: int, composed: DictConfig) -> SweepJob:
        before = HydraConfig.instance().cfg
        HydraConfig.instance().set_config(composed)  # for `${hydra:...}` in a configuration
        try:
            folder = create_run_folder(self._folder, composed.name)
            overrides = list(composed.hydra.overrides.task)
            freeze(composed, folder, overrides)
            return SweepJob(number, folder, overrides, resolved(composed, folder))
        finally:
            HydraConfig.instance().cfg = before


class SlurmLauncher(LocalLauncher):
    """Submits every job to SLURM, with its frozen configuration, and waits for them.

    Args:
        options: of hydra-submitit-launcher.
    """

    def __init__(self, **options: Any) -> None:
        self._options = {
            key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
            for key, value in options.items()
        }

    def options(self) -> dict[str, Any]:
        """The options of hydra-submitit-launcher."""
        return self._options

    def run(self, sweep: Sweep, jobs: Sequence[SweepJob]) -> int:
        """Submits queued jobs; returns the exit code."""
        from zoo.sweeps.slurm import submit_jobs  # here, because it needs an extra

        return submit_jobs(Path(sys.argv[0]), sweep, jobs)


def _returned(composed: DictConfig, job: SweepJob, objective: float) -> JobReturn:
    returned = JobReturn(
        overrides=job.overrides, cfg=composed, working_dir=str(job.folder), status=JobStatus.COMPLETED
    )
    returned.return_value = objective
    return returned
