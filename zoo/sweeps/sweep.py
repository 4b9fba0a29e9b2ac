"""Runs the jobs of a sweep, a process for each, and takes an interrupted sweep up again."""

import csv
import fcntl
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from zoo.config.search import STUDY
from zoo.config.sweep_rules import check_gpus
from zoo.config.sweep_settings import SweepSettings, sweep_settings
from zoo.core.lock import is_held
from zoo.core.metrics_csv import read_metrics
from zoo.core.reading import Unreadable, read_json, require_regular
from zoo.runs.results import commit, cores
from zoo.runs.resume import make_ready
from zoo.runs.status import State, StatusFile, status_of
from zoo.runtime.leases import Lease, Leases, gpus, gpus_wanted
from zoo.runtime.preemption import leave_closed_terminal
from zoo.sweeps.job import JobProcess
from zoo.sweeps.record import Sweep, SweepJob, configurations, read_sweep, refuse_changes
from zoo.sweeps.table import SweepTable, print_sweep
from zoo.training.checkpoint import find_checkpoint

if TYPE_CHECKING:  # needs an extra
    from zoo.sweeps.study import Study

log = logging.getLogger(__name__)

_SECONDS = 0.1
_SECONDS_TO_SAVE = 30
_INTERRUPTED, _TERMINATED = 130, 143
_WELL = (State.FINISHED, State.PRUNED)
"""How a job may end without anything being wrong."""
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


def end_sweep(folder: Path, code: str | int | None = None, damages: Mapping[int, str] | None = None) -> int:
    """Prints the complete table of a sweep.

    Args:
        folder: the sweep's.
        code: the exit code, where it is known.
        damages: what else is known to be wrong with jobs, by their numbers.

    Returns:
        That, else 0 when every job finished or was pruned, and is whole, and 1 otherwise.
    """
    sweep = read_sweep(folder)
    print_sweep(sweep, damages or {})
    if isinstance(code, int):
        return code
    return int(bool(damages) or not all(status_of(job.folder).state in _WELL for job in sweep.jobs))


def start_sweep(script: Path, sweep: Sweep) -> int:
    """Runs all jobs of a new sweep and prints its table; returns the exit code."""
    with supervised(sweep.folder):
        code = run_queued(script, sweep, sweep.jobs, study=_study(sweep))
    return end_sweep(sweep.folder, code or None)


def _study(sweep: Sweep) -> "Study | None":
    """The study that draws the jobs of a sweep, if one does."""
    if sweep.sweeper != STUDY:
        return None
    from zoo.sweeps.study import Study  # here, because it needs an extra

    return Study(sweep)


def run_queued(
    script: Path,
    sweep: Sweep,
    jobs: Sequence[SweepJob],
    *,
    resume: bool = False,
    study: "Study | None" = None,
) -> int:
    """Runs jobs of a sweep where its launcher says, on this machine or under SLURM; see `run_jobs`."""
    if sweep.launcher != "slurm":
        return run_jobs(script, sweep, jobs, resume=resume, study=study)
    from zoo.sweeps.slurm import submit_jobs  # here, because it needs an extra

    code = 0
    jobs = jobs or (study.several() if study else [])
    while jobs:
        code = max(code, submit_jobs(script, study.sweep if study else sweep, jobs, resume=resume))
        if study:
            for job in jobs:
                study.tell(job)
        fails = code > 0 and sweep_settings(jobs[0].config).fail_fast
        jobs = study.several() if study and code != _INTERRUPTED and not fails else []
    return code


def run_jobs(
    script: Path,
    sweep: Sweep,
    jobs: Sequence[SweepJob],
    *,
    resume: bool = False,
    leases: Leases | None = None,
    study: "Study | None" = None,
) -> int:
    """Runs jobs of a sweep, each in a process of its own.

    A failed job is reported when it fails; the others go on, unless `sweep.fail_fast` says otherwise. SIGINT,
    SIGTERM, SIGUSR1 and SIGHUP are passed on to the running jobs, which save and end as preempted, and those
    that wait stay queued; a second SIGINT kills. When this returns, nothing that it started is left.

    Args:
        script: train.py.
        sweep: the sweep, for the table.
        jobs: those to run, with what `freeze` made in their folders.
        resume: continue what their folders hold.
        leases: the machine's GPUs.
        study: draws further jobs, whenever there is room for one.

    Returns:
        0 when all finished or were pruned, 130 when Ctrl-C ended it, 143 when another signal did, else 1.
    """
    settings = sweep_settings(sweep.jobs[0].config)
    waiting, failed = deque(jobs), False
    total = study.trials if study else len(sweep.jobs)
    runner = _Runner(script, settings, total, leases or Leases(gpus(), settings.jobs_per_gpu), resume)
    with runner, SweepTable(sweep, settings.parallel, total) as table:
        while True:
            stopped = runner.signal is not None or (failed and settings.fail_fast)
            while not stopped and runner.has_room:
                if study and not waiting and (drawn := study.draw()):
                    waiting.append(drawn)
                    table.grew(study.sweep)
                if not waiting or runner.signal is not None:  # a signal may come while a study draws
                    break
                job = waiting[0]
                try:
                    state = status_of(job.folder).state
                    if state is State.RUNNING:
                        raise ValueError("another process runs it")
                    if state is not State.FINISHED:  # somebody may have run it alone meanwhile
                        if not runner.start(job):
                            break
                        table.started(job.folder)
                except (OSError, ValueError) as error:
                    log.error("job %d cannot be started: %s", job.number, error)
                    failed = True
                    if stopped := settings.fail_fast:
                        runner.stop(signal.SIGTERM)
                waiting.popleft()
            for job in runner.ended():
                table.ended(job.folder)
                if study:
                    study.tell(job)
                if status_of(job.folder).state not in _WELL:
                    failed = True
                    if settings.fail_fast:
                        runner.stop(signal.SIGTERM)
            if not runner.running and (stopped or not (waiting or (study and not study.is_complete))):
                break
            table.update()
            time.sleep(_SECONDS)
    if runner.signal is not None:
        return _INTERRUPTED if runner.signal == signal.SIGINT else _TERMINATED
    return int(failed)


class _Runner:
    """The processes of a sweep's jobs: starts them, and in whatever way it is left, leaves none behind."""

    def __init__(
        self, script: Path, settings: SweepSettings, jobs: int, leases: Leases, resume: bool
    ) -> None:
        self.running: list[tuple[SweepJob, JobProcess]] = []
        self.signal: int | None = None
        self._script, self._leases, self._resume = script, leases, resume
        self._parallel = min(settings.parallel, jobs)
        self._stopped = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "_Runner":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
            before = signal.getsignal(number)
            if number != signal.SIGHUP or before != signal.SIG_IGN:  # `nohup` shall stay one
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop(signal.SIGTERM)  # after an error there may still be some, which can save
        deadline = time.monotonic() + _SECONDS_TO_SAVE
        while any(process.poll() is None for _, process in self.running) and time.monotonic() < deadline:
            time.sleep(_SECONDS)
        for _, process in self.running:
            process.close()
        for number, before in self._before.items():
            signal.signal(number, before)

    @property
    def has_room(self) -> bool:
        """Whether fewer jobs run than may."""
        return len(self.running) < self._parallel

    def start(self, job: SweepJob) -> bool:
        """Starts a job, unless no GPU is free.

        Raises:
            OSError: its folder cannot be used.
            ValueError: another process runs it, or its folder lies elsewhere.
        """
        if job.folder.is_symlink():
            raise ValueError(f"{job.folder} is a link: the folders of a sweep's jobs lie in its own")
        lease = Lease((), ())
        wanted = gpus_wanted(job.config, len(self._leases.devices))
        environment: dict[str, str | None] = {**threads(job.config, self._parallel)}
        if wanted:
            taken = self._leases.take(wanted)
            if taken is None:
                return False
            lease = taken
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(lease.devices)
        try:
            make_ready(job.folder, job.overrides)
            process = JobProcess(
                self._script,
                job.folder,
                environment=environment,
                inherited=lease.descriptors,
                resume=self._resume or status_of(job.folder).state is not State.QUEUED,
            ).start()
        finally:
            lease.close()
        self.running.append((job, process))
        if self._stopped:  # a signal came while this one started
            process.send(signal.SIGTERM)
        return True

    def ended(self) -> Iterator[SweepJob]:
        """The jobs that have ended since the last look."""
        for entry in list(self.running):
            job, process = entry
            if process.poll() is not None:
                self.running.remove(entry)
                self._record(job, process)
                yield job

    def stop(self, number: int) -> None:
        """Sends a signal to every running job; no second one, which would keep it from saving."""
        if not self._stopped:
            self._stopped = True
            for _, process in self.running:
                process.send(number)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_closed_terminal()
        if self.signal is not None and number == signal.SIGINT:
            for _, process in self.running:
                process.kill()
        self.signal = self.signal or number
        self.stop(signal.SIGTERM if number == signal.SIGHUP else number)

    def _record(self, job: SweepJob, process: JobProcess) -> None:
        """Closes the status of a job that ended before it could say anything itself."""
        # Only a job that never began: what a folder holds of an earlier start may still be gone on with.
        code = process.poll()
        queued = status_of(job.folder).state is State.QUEUED
        if code and queued and not self._stopped and not is_held(job.folder):
            reason = RuntimeError(f"the process ended with exit code {code} before the run began")
            with suppress(OSError):
                StatusFile(job.folder).end(State.FAILED, exit_code=code, exception=reason)


def threads(config: Mapping[str, Any], parallel: int) -> dict[str, str]:
    """What tells the libraries of one of `parallel` jobs how many threads are its share of the cores.

    A number that the user has set stays where it is the smaller one. The variables without a number take the
    smallest that is set: torch computes with as many threads as the largest of them says.
    """
    processes = config["trainer"].get("devices") or 1
    share = cores() // parallel
    if isinstance(processes, int) and processes > 1:
        share //= processes
    given = {name: int(text) for name in _THREADS if (text := os.environ.get(name, "")).isdigit()}
    share = max(1, share)
    others = min([share, *given.values()])
    return {name: str(min(share, given.get(name, others))) for name in _THREADS}


@contextmanager
def supervised(folder: Path) -> Iterator[None]:
    """A context in which no other process runs the same sweep.

    Raises:
        ValueError: another one does.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{folder} is being run by another process") from None
        yield
    finally:
        os.close(descriptor)


def resume_sweep(script: Path, folder: Path, skip: Collection[int] = (), *, trials: int | None = None) -> int:
    """Takes a sweep up again.

    Finished jobs are left alone; preempted and killed ones, and those with a damaged status, continue from
    their last checkpoint; failed ones begin anew; diverged ones would diverge again. Jobs without a folder or
    a configuration that can be read are named, and keep nobody else from being run. A study then draws the
    trials that it lacks.

    Args:
        script: train.py.
        folder: the sweep's.
        skip: numbers of jobs that are left as they are, whatever they are.
        trials: how many a study shall have in all; None for as many as before.

    Returns:
        The exit code: 0 when every job of the sweep has finished by now, and is whole.

    Raises:
        ValueError: it is not a sweep's folder, has no such job, its configuration changed, or it is still
            running.
    """
    folder = folder.resolve()
    sweep = read_sweep(folder)
    if trials is not None:
        sweep = with_trials(sweep, trials)
    if unknown := set(skip) - {job.number for job in sweep.jobs}:
        numbers = ", ".join(map(str, sorted(unknown)))
        raise ValueError(f"--skip {numbers}: {folder} has the jobs 0 to {len(sweep.jobs) - 1}")
    with supervised(folder):
        jobs = [job for job in sweep.jobs if job.number not in skip]
        now, damages = configurations(jobs)
        refuse_changes(jobs, now)
        states = {job.folder: status_of(job.folder).state for job in jobs}
        running = [job.folder.name for job in jobs if states[job.folder] is State.RUNNING]
        if running:
            raise ValueError(f"{folder}: still running: {', '.join(running)}; --skip leaves a job out")
        if not sweep.jobs and sweep.sweeper != STUDY:
            line = " ".join(sweep.overrides)
            raise ValueError(
                f"{folder} ended before its jobs were queued; begin it again: python train.py -m {line}"
            )
        finished = [job for job in jobs if states[job.folder] is State.FINISHED]
        damages |= {job.number: said for job in finished if (said := _damage(job.folder))}
        for number, said in sorted(damages.items()):
            log.error("job %d is damaged and left out, the others go on: %s", number, said)
        done = (*_WELL, State.DIVERGED)
        jobs = [job for job in jobs if states[job.folder] not in done and job.number not in damages]
        if jobs and (source := commit()) != sweep.commit:
            log.warning("the source code changed: the sweep began with %s, this is %s", sweep.commit, source)
        if sweep.launcher == "local":
            check_gpus([job.config for job in jobs])
        study = _study(sweep)
        if study and not sweep.jobs:  # it ended before it had drawn any
            jobs = [job for job in [study.draw()] if job]
        code = 0
        if jobs or (study and not study.is_complete):
            code = run_queued(script, study.sweep if study else sweep, jobs, resume=True, study=study)
        return end_sweep(folder, code or None, damages)


def with_trials(sweep: Sweep, trials: int) -> Sweep:
    """A study that shall have other than its number of trials; sweep.json says so from now on.

    Raises:
        ValueError: the sweep is no study, or has more trials than that.
    """
    if sweep.sweeper != STUDY:
        raise ValueError(f"--trials is for a study: {sweep.folder} is a sweep whose jobs were listed")
    if trials < len(sweep.jobs):
        raise ValueError(f"--trials {trials}: {sweep.folder} has {len(sweep.jobs)} trials already")
    key = "hydra.sweeper.n_trials="
    others = [text for text in sweep.overrides if not text.startswith(key)]
    changed = replace(sweep, overrides=[*others, f"{key}{trials}"])
    changed.write()
    return changed


def _damage(run: Path) -> str | None:
    """What of a finished run cannot be read; None where it is whole."""
    try:
        for _ in read_metrics(run / "metrics.csv"):
            pass
        read_json(run / "results.json")
        require_regular(find_checkpoint(run))
    except Unreadable as error:
        return str(error)
    except (OSError, ValueError, csv.Error) as error:
        return str(error)
    return None
