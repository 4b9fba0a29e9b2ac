"""The resolved configuration in plain containers: it is checked, built, kept in config.yaml and run again."""

import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, MissingMandatoryValue, OmegaConfBaseException

from zoo.core.aliases import with_current_names
from zoo.core.files import write_text
from zoo.core.problems import ConfigError, Problem
from zoo.core.reading import Unreadable, checked_yaml
from zoo.runs.status import State, StatusFile, status_of

Config = dict[str, Any]

FILE = "config.yaml"

_FILES = ("train", "val", "test", "images.path")
"""Settings of `data` that name the user's own files: one, or a list of them, or a folder."""


def resolved(composed: DictConfig, run_dir: Path) -> Config:
    """Everything interpolated, paths absolute.

    Raises:
        ConfigError: an interpolation fails, or a mandatory value is missing.
    """
    config = OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"])
    if not isinstance(config.get("paths"), DictConfig):
        raise ConfigError([Problem("paths", f"must be a mapping, got {config.get('paths')!r}")])
    try:
        paths = config.paths
        paths.run_dir = str(run_dir)
        for name in paths:
            if isinstance(paths[name], str) and paths[name]:  # the check refuses anything else
                # A relative path belongs to the folder where it was typed.
                paths[name] = _absolute(paths[name])
        for name in _FILES:
            if isinstance(config.get("data"), DictConfig) and (given := OmegaConf.select(config.data, name)):
                OmegaConf.update(config.data, name, _absolute(given))
        plain: Config = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    except MissingMandatoryValue as error:
        raise ConfigError([Problem(str(error.full_key), "has no value")]) from error
    except OmegaConfBaseException as error:
        key = str(error.full_key or "")
        raise ConfigError([Problem(key, _unresolved(error, key, composed))]) from error
    named: Config = with_current_names(plain)
    return named


def _unresolved(error: OmegaConfBaseException, key: str, composed: DictConfig) -> str:
    """Why a value cannot be worked out, in one line."""
    group = key.rpartition(".")[2]
    choices = OmegaConf.select(composed, "hydra.runtime.choices") or {}
    if isinstance(error, InterpolationKeyError) and group not in composed and group in choices:
        return f"the task takes {group}=, and the model leaves it out: take another model= or task="
    return str(error.msg or error).splitlines()[0]


def _absolute(path: Any) -> Any:
    """Where a path, or each of several, leads from the current folder; what is none the check refuses."""
    if isinstance(path, Sequence) and not isinstance(path, str):
        return [_absolute(one) for one in path]
    return os.path.abspath(os.path.expanduser(path)) if isinstance(path, str) else path


def freeze(composed: DictConfig, folder: Path, overrides: Sequence[str]) -> Config:
    """Queues a run: writes all that is needed to run it into its folder, whole or not at all.

    Returns:
        What stands in its config.yaml.
    """
    StatusFile(folder).start(overrides, State.QUEUED)
    config = resolved(composed, folder)
    write_config(folder / FILE, config)
    return config


def write_config(path: Path, config: Config) -> None:
    """Writes a config.yaml, whole or not at all."""
    write_text(path, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))


def folder_of(path: Path) -> Path:
    """The run's folder, of its config.yaml: where that lies, even if it is a link to another run's."""
    return path.parent.resolve()


def thaw(path: Path) -> Config:
    """Reads a config.yaml, whose folder becomes the run's.

    Raises:
        ConfigError: it is missing, or not the configuration of a run.
    """
    folder = folder_of(path)
    try:
        composed = OmegaConf.load(StringIO(checked_yaml(path)))
    except Unreadable as error:
        raise ConfigError([Problem(str(path), error.reason)]) from error
    except (OSError, ValueError, yaml.YAMLError, OmegaConfBaseException) as error:
        raise ConfigError([Problem(str(path), f"cannot be read: {error}")]) from error
    if not isinstance(composed, DictConfig) or "paths" not in composed:
        raise ConfigError([Problem(str(path), "is not the configuration of a run: no `paths`")])
    here = OmegaConf.create(moved(OmegaConf.to_container(composed), folder))  # type: ignore[arg-type]
    return resolved(here, folder)


def require_unused(path: Path) -> None:
    """Refuses the config.yaml of a folder that holds a run already: it would be overwritten.

    Raises:
        ConfigError: says what became of that run.
    """
    folder = folder_of(path)
    if StatusFile(folder).path.exists() and (state := status_of(folder).state) is not State.QUEUED:
        used = f"its folder holds a run ({state}); `zoo resume` goes on with it, `zoo rerun` repeats it"
        raise ConfigError([Problem(str(folder / FILE), used)])


def moved(config: Config, folder: Path) -> Config:
    """The configuration of a run whose folder was copied: what lay in the old one lies in the new."""
    there: Config = _moved(config, str(config["paths"].get("run_dir")), str(folder))
    return there


def rehoused(config: Config, before: Path, runs: Path) -> Config:
    """The configuration with another folder of all runs; what lay in the old one lies in the new."""
    if before == runs:
        return config
    there: Config = _moved(config, str(before), str(runs))
    return there


def _moved(node: Any, before: str, after: str) -> Any:
    if isinstance(node, dict):
        return {key: _moved(value, before, after) for key, value in node.items()}
    if isinstance(node, list):
        return [_moved(value, before, after) for value in node]
    if isinstance(node, str) and (node == before or node.startswith(f"{before}{os.sep}")):
        return after + node.removeprefix(before)
    return node
