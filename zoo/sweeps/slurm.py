"""The jobs of a sweep as SLURM jobs, submitted by submitit, the engine of hydra-submitit-launcher."""

import logging
import signal
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any

from zoo.config.sweep_settings import sweep_settings
from zoo.runs.resume import make_ready
from zoo.runs.status import State, StatusFile, status_of
from zoo.sweeps.job import JobProcess
from zoo.sweeps.record import Sweep, SweepJob
from zoo.sweeps.table import SweepTable

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2
# How many tasks SLURM starts is not how many processes train: Lightning starts those itself.
_NOT_OURS = ("SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_PROCID", "SLURM_LOCALID")


class SlurmJob:
    """What runs on a node, as often as SLURM starts it: the job's own process, in the job's folder.

    Args:
        script: train.py.
        folder: the run's.
        resume: continue what the folder holds also at the first start.
    """

    def __init__(self, script: Path, folder: Path, *, resume: bool) -> None:
        self._script, self._folder, self._resume = script.resolve(), folder.resolve(), resume
        self._process: JobProcess | None = None

    def __call__(self) -> int:
        """Runs the job, or continues it when it began before; returns its exit code."""
        state = status_of(self._folder).state
        if state in (State.FINISHED, State.PRUNED):  # just before SLURM took the node away
            return 0
        signal.signal(signal.SIGTERM, self._pass_on)
        environment: dict[str, str | None] = dict.fromkeys(_NOT_OURS)
        resume = self._resume or state is not State.QUEUED
        job = JobProcess(self._script, self._folder, environment=environment, resume=resume)
        self._process = job.start()
        return self._wait()

    def checkpoint(self) -> Any:
        """Called when SLURM is about to take the node away: lets the job save, and says how it goes on."""
        import submitit

        self._pass_on(signal.SIGTERM, None)
        self._wait()
        return submitit.helpers.DelayedSubmission(SlurmJob(self._script, self._folder, resume=True))

    def _wait(self) -> int:
        if self._process is None:
            return 0
        while (code := self._process.poll()) is None:
            time.sleep(_LOOK_SECONDS)
        return code

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if self._process is not None:
            self._process.send(number)


def submit_jobs(
    script: Path, sweep: Sweep, jobs: Sequence[SweepJob], *, resume: bool = False, cluster: str = "slurm"
) -> int:
    """Submits jobs and waits for their ends; Ctrl-C ends the waiting only, the jobs go on.

    Args:
        script: train.py.
        sweep: the sweep; its options are those of hydra-submitit-launcher.
        jobs: those to run, with what `freeze` made in their folders.
        resume: continue what their folders hold.
        cluster: where submitit runs them.

    Returns:
        0 when all finished, 130 when the waiting was ended, else 1.
    """
    import submitit
    from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf

    asked = len(jobs)

    options = {key: value for key, value in sweep.options.items() if value is not None and key != "_target_"}
    folder, retries = options.pop("submitit_folder"), options.pop("max_num_timeout")
    executor = submitit.AutoExecutor(folder=folder, cluster=cluster, slurm_max_num_timeout=retries)
    common = {field.name for field in fields(BaseQueueConf)}
    executor.update_parameters(
        **{key if key in common else f"slurm_{key}": value for key, value in options.items()}
    )
    jobs = [job for job in jobs if _is_ready(job)]
    if not jobs:
        return 1
    fail_fast = sweep_settings(jobs[0].config).fail_fast
    with executor.batch():
        submitted = [executor.submit(SlurmJob(script, job.folder, resume=resume)) for job in jobs]
    waiting = dict(zip([job.folder for job in jobs], submitted, strict=True))
    try:
        with SweepTable(sweep, len(jobs)) as table:
            for job in jobs:
                table.started(job.folder)
            while waiting:
                for run in [run for run, handle in waiting.items() if handle.done()]:
                    _close(run, waiting.pop(run))
                    table.ended(run)
                    if fail_fast and status_of(run).state not in (State.FINISHED, State.PRUNED):
                        for handle in waiting.values():
                            handle.cancel()
                table.update()
                time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        print(f"the SLURM jobs go on: {', '.join(handle.job_id for handle in waiting.values())}")
        return 130
    well = (State.FINISHED, State.PRUNED)
    return int(len(jobs) < asked or any(status_of(job.folder).state not in well for job in jobs))


def _is_ready(job: SweepJob) -> bool:
    try:
        make_ready(job.folder, job.overrides)
    except (OSError, ValueError) as error:
        log.error("job %d cannot be started: %s", job.number, error)
        return False
    return True


def _close(folder: Path, handle: Any) -> None:
    """Closes the status of a job that ended before it could say anything itself."""
    if status_of(folder).state is State.QUEUED:
        ended = f"SLURM job {handle.job_id} ({handle.state}) ended before the run began"
        reason = RuntimeError(f"{ended}: see {handle.paths.stderr}")
        StatusFile(folder).end(State.FAILED, exit_code=1, exception=reason)
