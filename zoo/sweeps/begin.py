"""Begins a sweep: its record, the folders of its jobs, and what an optimisation needs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from zoo.config.compose import Job
from zoo.config.overrides import key_of
from zoo.config.sweep_settings import sweep_settings
from zoo.core.problems import ConfigError, Problem
from zoo.runs.folder import create_run_folder, day_folder
from zoo.runs.frozen import freeze
from zoo.runs.results import commit
from zoo.sweeps.record import Sweep, SweepJob

_LISTING = ("basic", "union")
"""Sweepers whose jobs are known at the beginning; others draw them."""


def begin_sweep(jobs: Sequence[Job], overrides: Sequence[str]) -> tuple[Sweep, list[str]]:
    """Makes the folder of a sweep, with its sweep.json, and queues the jobs.

    Args:
        jobs: all of them, or the first, where another sweeper will draw them.
        overrides: the command line.

    Returns:
        The sweep; and overrides for Hydra, with which such a sweeper runs. Then no job is queued yet.

    Raises:
        ConfigError: a study of Optuna's has all its trials.
        OSError: a folder cannot be made.
    """
    hydra, settings = jobs[0].composed.hydra, sweep_settings(jobs[0].config)
    listed = hydra.runtime.choices["hydra/sweeper"] in _LISTING
    options = [] if listed else _options_for_drawing(jobs, overrides)
    runs = Path(jobs[0].config["paths"]["runs_dir"])
    folder = create_run_folder(day_folder(runs), settings.name or "sweep")
    sweep = Sweep(
        folder=folder,
        overrides=list(overrides),
        launcher=str(hydra.runtime.choices["hydra/launcher"]),
        sweeper=str(hydra.runtime.choices["hydra/sweeper"]),
        commit=commit(),
    )
    sweep.write()
    if listed:
        return queue_jobs(sweep, [job.composed for job in jobs], _names(jobs)), []
    return sweep, [*options, f"hydra.sweep.dir={_quoted(folder)}"]


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


def _options_for_drawing(jobs: Sequence[Job], overrides: Sequence[str]) -> list[str]:
    """What a sweeper that draws its jobs needs and the user did not say: Optuna's, or another one.

    A study of Optuna's is kept below `paths.runs_dir`, by the sweep's name or that of the command line, so
    that the same command takes it up again: `n_trials` counts all that it has.

    Returns:
        Overrides for Hydra.

    Raises:
        ConfigError: the study has all its trials.
    """
    job, hydra = jobs[0], jobs[0].composed.hydra
    # A job's name says what was drawn for it, and not what all of them have.
    typed = ",".join(sorted(f"'{key}'" for key in _common_keys(jobs)))
    named = [f"hydra.job.config.override_dirname.exclude_keys=[{typed}]"]
    if hydra.runtime.choices["hydra/sweeper"] != "optuna":
        return named
    given = {key_of(override) for override in overrides}
    settings, sweeper = sweep_settings(job.config), hydra.sweeper
    search = sorted(text for text in overrides if not text.startswith(("hydra.", "sweep.", "paths.")))
    searched = OmegaConf.to_container(sweeper.params) if sweeper.params else None
    identity = hashlib.sha256(json.dumps([search, searched]).encode()).hexdigest()[:8]
    name = sweeper.study_name or settings.name or f"{job.composed.name}-{identity}"
    storage = sweeper.storage or f"sqlite:///{Path(job.config['paths']['runs_dir']) / name}.sqlite"
    done = _trials(name, storage)
    if done >= sweeper.n_trials:
        problem = (
            f"the study {name} has {done} trials already; ask for more, or give sweep.name for a new one"
        )
        raise ConfigError([Problem("hydra.sweeper.n_trials", problem)])
    options = {
        "hydra.sweeper.study_name": name,
        "hydra.sweeper.storage": storage,
        "hydra.sweeper.direction": "maximize" if maximises(job.config) else "minimize",
        "hydra.sweeper.n_jobs": settings.parallel,
        "hydra.sweeper.max_failure_rate": 1.0,
    }
    if "seed" in sweeper.sampler:  # another one in each go, or it would draw the same again
        options["hydra.sweeper.sampler.seed"] = job.config["seed"] + done
    options = {key: value for key, value in options.items() if key not in given}
    options["hydra.sweeper.n_trials"] = sweeper.n_trials - done
    return named + [
        f"{key}={_quoted(value) if isinstance(value, str) else value}" for key, value in options.items()
    ]


def _trials(study: str, storage: str) -> int:
    """How many trials of a study have a value."""
    import optuna  # here, because it is an extra

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = storage.removeprefix("sqlite:///")
    if path != storage and not Path(path).exists():  # asking would make the file
        return 0
    try:
        trials = optuna.load_study(study_name=study, storage=storage).get_trials(deepcopy=False)
    except KeyError:
        return 0
    return sum(trial.state is optuna.trial.TrialState.COMPLETE for trial in trials)


def _quoted(text: object) -> str:
    escaped = str(text).replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"
