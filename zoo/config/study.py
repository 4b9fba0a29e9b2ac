"""How a study searches: the settings below `hydra.sweeper` where `hydra/sweeper=optuna` is chosen."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from zoo.config.search import STUDY
from zoo.config.values import TARGET, shown
from zoo.core.problems import ConfigError, Problem, similar

if TYPE_CHECKING:  # an extra
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

COSTS = ("seconds", "parameters", "peak_memory_bytes")
"""Objectives beside the monitor, by their names in results.json: the less the better."""
MONITOR = "monitor"


@dataclass(frozen=True)
class StudySettings:
    """What `hydra.sweeper` holds.

    Attributes:
        trials: how many the study gets in all.
        objectives: what is optimised, `monitor` or one of `COSTS`.
        sampler: draws the trials.
        pruner: how `pruner_of` makes the pruner.
    """

    trials: int
    objectives: tuple[str, ...]
    sampler: "BaseSampler"
    pruner: Mapping[str, Any]

    @property
    def prunes(self) -> bool:
        """Whether trials may be ended early."""
        return not str(self.pruner[TARGET]).endswith(".NopPruner")


def study_settings(sweeper: Mapping[str, Any], seed: int, drawn: int = 0) -> StudySettings:
    """Reads and checks the settings.

    Args:
        sweeper: plain containers.
        seed: of the sampler, where it is given none.
        drawn: trials that there are; with the same seed the next ones would be the same again.

    Raises:
        ConfigError: Optuna is not installed, or a setting is wrong.
    """
    if find_spec("optuna") is None:
        problem = "needs Optuna: pip install -e '.[optuna]' in the checkout"
        raise ConfigError([Problem(f"hydra/sweeper={STUDY}", problem)])
    trials, objectives = sweeper["n_trials"], sweeper["objectives"]
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        problem = f"must be a whole number of at least 1, got {shown(trials)}"
        raise ConfigError([Problem("hydra.sweeper.n_trials", problem)])
    _require_objectives(objectives)
    sampler = dict(sweeper["sampler"])
    if "seed" in sampler:
        given = seed if sampler["seed"] is None else sampler["seed"]
        sampler["seed"] = given + drawn if isinstance(given, int) else given
    settings = StudySettings(
        trials=trials,
        objectives=tuple(objectives),
        sampler=_built(sampler, "samplers", "BaseSampler"),
        pruner=dict(sweeper["pruner"]),
    )
    pruner_of(settings.pruner)
    if settings.prunes and len(objectives) > 1:
        problem = "compares trials by one objective: leave it out, or take one objective"
        raise ConfigError([Problem("hydra/sweeper/pruner", problem)])
    return settings


def pruner_of(options: Mapping[str, Any]) -> "BasePruner":
    """The pruner that `hydra.sweeper.pruner` describes.

    Raises:
        ConfigError: there is no such pruner, or it takes no such options.
    """
    pruner: BasePruner = _built(options, "pruners", "BasePruner")
    return pruner


def _require_objectives(objectives: Any) -> None:
    allowed = (MONITOR, *COSTS)
    names = objectives if isinstance(objectives, list) else [objectives]
    for name in names:
        if name not in allowed:
            problem = (
                f"must be a list of {', '.join(allowed)}, got {shown(name)}{similar(str(name), allowed)}"
            )
            raise ConfigError([Problem("hydra.sweeper.objectives", problem)])
    if names is not objectives or not names or len(set(names)) < len(names):
        problem = f"must be a list with each objective once, got {shown(objectives)}"
        raise ConfigError([Problem("hydra.sweeper.objectives", problem)])


def _built(options: Mapping[str, Any], package: str, base: str) -> Any:
    """An object of one of Optuna's own classes; nothing else can be named."""
    key, holder = f"hydra.sweeper.{package.removesuffix('s')}", import_module(f"optuna.{package}")
    path, _, name = str(options.get(TARGET)).rpartition(".")
    kind = getattr(holder, name, None) if path == f"optuna.{package}" else None
    if not (isinstance(kind, type) and issubclass(kind, getattr(holder, base))):
        problem = f"must be a class of optuna.{package}, got {shown(options.get(TARGET))}"
        raise ConfigError([Problem(f"{key}.{TARGET}", problem)])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a part of Optuna may change
            return kind(**{name: value for name, value in options.items() if name != TARGET})
    except (TypeError, ValueError) as error:
        raise ConfigError([Problem(key, str(error))]) from error
