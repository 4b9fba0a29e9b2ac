"""What the configuration says of a sweep: checked, and handed to Hydra."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.conf import JobConf
from omegaconf import DictConfig, OmegaConf

from zoo.config.overrides import key_of
from zoo.config.sweep_settings import SweepSettings
from zoo.core.problems import ConfigError, Problem
from zoo.runs.results import commit
from zoo.sweeps.record import Sweep

if TYPE_CHECKING:
    from zoo.config.compose import Job


def begin_sweep(jobs: "Sequence[Job]", folder: Path, overrides: Sequence[str]) -> list[str]:
    """Writes sweep.json, to which the launcher adds the jobs, and says what Hydra must know.

    Args:
        jobs: as far as they are known.
        folder: the sweep's.
        overrides: the command line.

    Returns:
        Overrides: the sweep's folder, and which overrides its jobs have in common.
    """
    hydra = jobs[0].composed.hydra
    Sweep(
        folder=folder,
        overrides=list(overrides),
        launcher=str(hydra.runtime.choices["hydra/launcher"]),
        sweeper=str(hydra.runtime.choices["hydra/sweeper"]),
        commit=commit(),
    ).write()
    common = set.intersection(*(set(job.overrides) for job in jobs))
    keys = ",".join(sorted(f"'{key_of(override)}'" for override in common))
    return [
        f"hydra.sweep.dir={_quoted(folder)}",
        f"hydra.job.config.override_dirname.exclude_keys=[{keys}]",
    ]


def label_job(composed: DictConfig, job: JobConf, sweep: str) -> None:
    """Names a job of a sweep by what is special about it, and the sweep where the user did not."""
    composed.name = "-".join(
        str(part) for part in (job.num, composed.name, job.override_dirname) if part not in (None, "")
    )
    composed.sweep.name = composed.sweep.name or sweep


def maximises(config: Mapping[str, Any]) -> bool:
    """Whether the metric that picks the checkpoint is better when it is larger."""
    return all(
        callback.get("mode") != "min" for callback in config["callbacks"].values() if "monitor" in callback
    )


def study_options(job: "Job", overrides: Sequence[str]) -> list[str]:
    """What an optimisation by Optuna needs and the user did not say.

    The study is kept below `paths.runs_dir`, by the sweep's name or that of the command line, so that the
    same command takes it up again: `n_trials` counts all that it has.

    Args:
        job: what all trials have in common.
        overrides: the command line.

    Returns:
        Overrides; none for another sweeper.

    Raises:
        ConfigError: the study has all its trials.
    """
    hydra = job.composed.hydra
    if hydra.runtime.choices["hydra/sweeper"] != "optuna":
        return []
    given = {key_of(override) for override in overrides}
    settings, sweeper = SweepSettings(**job.config["sweep"]), hydra.sweeper
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
    return [f"{key}={_quoted(value) if isinstance(value, str) else value}" for key, value in options.items()]


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
