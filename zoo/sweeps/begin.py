"""Begins a sweep: its record, the folders of its jobs, and what an optimisation needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from zoo.config.compose import Job
from zoo.config.overrides import LISTING, key_of
from zoo.config.search import STUDY
from zoo.config.sweep_settings import sweep_settings
from zoo.runs.folder import create_run_folder, day_folder
from zoo.runs.frozen import freeze
from zoo.runs.results import commit
from zoo.sweeps.record import Sweep, SweepJob


def begin_sweep(jobs: Sequence[Job], overrides: Sequence[str]) -> tuple[Sweep, list[str]]:
    """Makes the folder of a sweep, with its sweep.json, and queues the jobs.

    Args:
        jobs: all of them, or the first, where another sweeper will draw them.
        overrides: the command line.

    Returns:
        The sweep, of a study with its first job; and overrides for Hydra, with which a sweeper of others
        runs. Then no job is queued yet.

    Raises:
        OSError: a folder cannot be made.
    """
    hydra, settings = jobs[0].composed.hydra, sweep_settings(jobs[0].config)
    sweeper = str(hydra.runtime.choices["hydra/sweeper"])
    runs = Path(jobs[0].config["paths"]["runs_dir"])
    folder = create_run_folder(day_folder(runs), settings.name or "sweep")
    sweep = Sweep(
        folder=folder,
        overrides=list(overrides),
        launcher=str(hydra.runtime.choices["hydra/launcher"]),
        sweeper=sweeper,
        commit=commit(),
    )
    sweep.write()
    if sweeper in LISTING:
        return queue_jobs(sweep, [job.composed for job in jobs], _names(jobs)), []
    if sweeper == STUDY:
        from zoo.sweeps.study import Study  # here, because it needs an extra

        study = Study(sweep)
        study.draw()
        return study.sweep, []
    # A job's name says what was drawn for it, and not what all of them have.
    typed = ",".join(sorted(f"'{key}'" for key in _common_keys(jobs)))
    named = f"hydra.job.config.override_dirname.exclude_keys=[{typed}]"
    return sweep, [named, f"hydra.sweep.dir={_quoted(folder)}"]


def queue_jobs(sweep: Sweep, composed: Sequence[DictConfig], names: Sequence[str]) -> Sweep:
    """Gives further jobs of a sweep their folders, with status `queued`, and records them.

    Args:
        sweep: with the jobs before these; it is named by its folder, where the user gave no name.
        composed: the jobs, as Hydra made them.
        names: of the jobs, behind their numbers.
    """
    jobs = []
    for number, (config, name) in enumerate(zip(composed, names, strict=True), len(sweep.jobs)):
        overrides = list(config.hydra.overrides.task)
        config.name = job_name(str(number), name)
        config.sweep.name = config.sweep.name or sweep.folder.name
        folder = create_run_folder(sweep.folder, config.name)
        jobs.append(SweepJob(number, folder, overrides, freeze(config, folder, overrides)))
    hydra = composed[0].hydra
    hydra.sweep.dir = str(sweep.folder)
    options = OmegaConf.to_container(hydra.launcher, resolve=True)
    assert isinstance(options, dict)
    options.pop("_target_", None)
    queued = replace(sweep, jobs=[*sweep.jobs, *jobs], options=options)  # type: ignore[arg-type]
    queued.write()
    return queued


def job_name(*parts: str | None) -> str:
    """A name of those parts that are not empty."""
    return "-".join(part for part in parts if part)


def _names(jobs: Sequence[Job]) -> list[str]:
    """What each job is called: by the user, and by what it was told that not all of them were."""
    common = _common_keys(jobs)
    special = [
        [text for text in job.composed.hydra.overrides.task if key_of(text) not in common] for job in jobs
    ]
    return [job_name(job.name, ",".join(sorted(texts))) for job, texts in zip(jobs, special, strict=True)]


def _common_keys(jobs: Sequence[Job]) -> set[str]:
    """The keys of what all of these jobs were told."""
    return {key_of(text) for text in set.intersection(*(set(job.overrides) for job in jobs))}


def maximises(config: Mapping[str, Any]) -> bool:
    """Whether the metric that picks the checkpoint is better when it is larger."""
    return all(
        callback.get("mode") != "min" for callback in config["callbacks"].values() if "monitor" in callback
    )


def _quoted(text: object) -> str:
    escaped = str(text).replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"
