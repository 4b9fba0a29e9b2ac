"""Composes every job of a command line before any of them runs, and says what is wrong in one message."""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from zoo.config.frozen import Config, resolved
from zoo.config.problems import ConfigError, Problem, unknown
from zoo.config.rules import uses_attention
from zoo.config.sweeps import key_of, sweep_problems

_ERRORS = (HydraException, OmegaConfBaseException)
_PLUGINS = {"optuna": "optuna", "submitit_slurm": "slurm"}
"""Options that come with a package that may be missing, and the extra that installs it."""


def command_line() -> argparse.Namespace:
    """What was typed: Hydra's own options and overrides in any order, and `--frozen`.

    Returns:
        Hydra's options; `frozen`, a config.yaml to run; `resume`, whether to go on with that run; `shows`,
        whether Hydra shall only show something.
    """
    parser = get_args_parser()
    parser.add_argument("--frozen", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--resume", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_intermixed_args()
    asked.shows = any((asked.help, asked.hydra_help, asked.cfg, asked.info, asked.shell_completion))
    if asked.config_path or asked.config_name or asked.experimental_rerun:
        parser.error(
            "the primary configuration is conf/train.yaml; --config-dir adds a folder of your own to it"
        )
    if asked.config_dir and not asked.shows:
        asked.overrides.append(f"hydra.searchpath=['file://{Path(asked.config_dir).resolve()}']")
    return asked


class Job(NamedTuple):
    """One run that a command line asks for.

    Attributes:
        overrides: what was typed for it.
        composed: as Hydra made it.
        config: resolved, for a folder that is still to be made.
    """

    overrides: list[str]
    composed: DictConfig
    config: Config


def compose_jobs(config_dir: Path, overrides: Sequence[str], multirun: bool) -> list[Job]:
    """Every job that a command line asks for.

    Args:
        config_dir: the folder of configuration files; train.yaml is the primary one.
        overrides: as typed.
        multirun: commas mean several jobs.

    Raises:
        ConfigError: names every override that does not fit.
    """
    with initialize_config_dir(str(config_dir), version_base="1.3"):
        jobs = []
        for chosen in _split(overrides) if multirun else [list(overrides)]:
            try:
                composed = _composed(chosen)
            except _ERRORS as error:
                raise ConfigError(list(_explain(chosen, error))) from error
            if not isinstance(composed.sweep, DictConfig):
                raise ConfigError(sweep_problems(composed.sweep))
            jobs.append(Job(chosen, composed, resolved(composed, Path("run"))))
        return jobs


def label(composed: DictConfig, choices: Mapping[str, Any]) -> None:
    """Fills in the recipe's name and, where the user gave none, the run's: what is run, in a few words."""
    OmegaConf.set_struct(composed, False)
    composed.experiment = choices.get("experiment")
    if composed.name is None:
        reads = uses_attention(OmegaConf.to_container(composed.model))
        groups = ["data", "model", "model/decoder", *(["attention", "selection"] if reads else [])]
        parts = [str(choices[group]) for group in groups if choices.get(group)]
        composed.name = composed.experiment or "-".join(parts)


def _composed(overrides: Sequence[str]) -> DictConfig:
    config = compose("train", overrides=list(overrides), return_hydra_config=True)
    label(config, config.hydra.runtime.choices)
    return config


def _split(overrides: Sequence[str]) -> list[list[str]]:
    """A sweep's jobs. What another sweeper will draw (an interval, a choice it steers) is left out here."""
    parser = OverridesParser.create(GlobalHydra.instance().config_loader())
    parsed, problems = [], []
    for override in overrides:
        try:
            parsed += parser.parse_overrides([override])
        except HydraException as error:
            problems.append(Problem(override, _first_line(error)))
    if problems:
        raise ConfigError(problems)
    kept = [one for one in parsed if not one.is_sweep_override() or one.is_discrete_sweep()]
    return [job for batch in BasicSweeper.split_arguments(kept, None) for job in batch]


def _explain(overrides: Sequence[str], error: Exception) -> Iterator[Problem]:
    """One problem for each override that cannot be added to those that can, whatever their order."""
    accepted: list[str] = []
    refused = dict.fromkeys(overrides, error)
    try:
        base = _composed(accepted)
    except _ERRORS as broken:
        yield Problem("", str(broken))
        return
    progress = True
    while progress and refused:
        progress = False
        for override in list(refused):
            try:
                base = _composed([*accepted, override])
            except _ERRORS as reason:
                refused[override] = reason
            else:
                accepted.append(override)
                del refused[override]
                progress = True
    for override, last in refused.items():
        yield Problem(override, _reason(override, last, base))


def _reason(override: str, error: Exception, base: DictConfig) -> str:
    key = key_of(override)
    if str(error).startswith("Ambiguous value"):
        return "these are several values; add -m to run a sweep over them"
    if isinstance(error, MissingConfigException):
        choice = str(error.missing_cfg_file).rpartition("/")[2]
        if choice in _PLUGINS:
            return f"needs a plugin: pip install 'attention-zoo[{_PLUGINS[choice]}]'"
    if isinstance(error, MissingConfigException) and error.options is not None:
        return f"there is no {key} called {choice}" + unknown(choice, error.options)
    # The deepest part of the key that exists says what could have been meant.
    parent, part = base, ""
    for part in key.split("."):
        node = OmegaConf.select(parent, part) if part in parent else None
        if part in parent and node is None:
            return f"{part} is null, so there is nothing in it"
        if not isinstance(node, DictConfig):
            break
        parent = node
    if part not in parent:
        names = [str(name) for name in parent if name != "hydra" and not str(name).startswith("_")]
        return f"there is no {part}" + unknown(part, names)
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return re.split(r"\n", str(error).strip())[0]
