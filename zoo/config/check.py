"""Finds everything that is wrong with a resolved configuration before any data is read."""

import inspect
from collections.abc import Collection, Iterator
from typing import Any

import torch

from zoo.config.allowed import locate
from zoo.config.frozen import Config
from zoo.config.instantiate import TARGET, instantiate, refusals
from zoo.config.problems import ConfigError, Problem, joined, unknown
from zoo.config.rules import RULES
from zoo.config.values import annotations, described, fits
from zoo.spec import DataSpec, TextSpec

_VALUES = {
    "name": str,
    "seed": int,
    "sweep": str | None,
    "experiment": str | None,
    "test": bool,
    "check": bool,
}
_GROUPS = {
    *("attention", "selection", "model", "data", "task", "optimizer", "scheduler", "decoding"),
    *("trainer", "callbacks", "logger", "paths"),
}
_PATHS = {"runs_dir", "data_dir", "cache_dir", "wandb_dir", "run_dir"}
_HYDRA = {TARGET, "_partial_", "_convert_", "_recursive_", "_args_"}


def check(config: Config, given: Collection[str] = ()) -> None:
    """Refuses a configuration that cannot run, naming all of its problems.

    Args:
        config: the resolved configuration.
        given: what was asked for explicitly, `key=value`.

    Raises:
        ConfigError: something is wrong.
    """
    # Each stage may rely on the ones before it.
    for stage in (_unsafe, _misfits, _refused):
        problems = stage(config)
        if problems:
            raise ConfigError(problems)
    problems = [problem for rule in RULES for problem in rule(config, given)]
    if problems:
        raise ConfigError(problems)


def _unsafe(config: Config) -> list[Problem]:
    return list(refusals(config))


def _misfits(config: Config) -> list[Problem]:
    """Names and values that nobody takes."""
    known = _VALUES.keys() | _GROUPS
    problems = [Problem(key, "no such setting" + unknown(key, known)) for key in config if key not in known]
    problems += [Problem(key, "is missing") for key in sorted(known - config.keys())]
    problems += [
        Problem(f"paths.{key}", "no such setting" + unknown(key, _PATHS))
        for key in config.get("paths", {})
        if key not in _PATHS
    ]
    problems += [
        Problem(key, f"must be {described(kind)}, got {config[key]!r}")
        for key, kind in _VALUES.items()
        if key in config and not fits(config[key], kind)
    ]
    # What stands in several places by interpolation is reported once, where it was written.
    seen: set[str] = set()
    for problem in _signatures(config, ""):
        if problem.message not in seen:
            seen.add(problem.message)
            problems.append(problem)
    return problems


def _signatures(node: Any, key: str) -> Iterator[Problem]:
    if isinstance(node, list):
        for position, value in enumerate(node):
            yield from _signatures(value, joined(key, position))
    if not isinstance(node, dict):
        return
    if TARGET in node:
        yield from _signature(node, key)
    for name, value in node.items():
        yield from _signatures(value, joined(key, name))


def _signature(node: dict[str, Any], key: str) -> Iterator[Problem]:
    target = locate(node[TARGET])
    parameters = inspect.signature(target).parameters
    takes = {
        name
        for name, parameter in parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    kinds = annotations(target)
    for name, value in node.items():
        if name in _HYDRA:
            continue
        if name not in takes:
            if not open_ended:
                yield Problem(joined(key, name), f"{target.__name__} takes no {name}" + unknown(name, takes))
        elif (
            name in kinds
            and not (isinstance(value, dict) and TARGET in value)
            and not fits(value, kinds[name])
        ):
            yield Problem(
                joined(key, name), f"{target.__name__} takes {described(kinds[name])}, got {value!r}"
            )
    if not node.get("_partial_") and "_args_" not in node:
        for name in sorted(takes - node.keys()):
            if parameters[name].default is inspect.Parameter.empty:
                yield Problem(joined(key, name), f"{target.__name__} needs it, and it is missing")


def _refused(config: Config) -> list[Problem]:
    """Builds what needs no data and no memory, so that constructors say themselves what they refuse."""
    problems = []
    built: dict[str, Any] = {}
    for key in ("decoding", "data", "model", "optimizer", "scheduler"):
        try:
            built[key] = instantiate(config[key], key) if config[key] is not None else None
        except ConfigError as error:
            problems += error.problems
    if problems:
        return problems
    with torch.device("meta"):
        try:
            network = built["model"](spec=_placeholder(config))
        except (TypeError, ValueError) as error:
            return [Problem("model", str(error))]
    try:
        optimizer = built["optimizer"](network.parameters())
    except (TypeError, ValueError) as error:
        return [Problem("optimizer", str(error))]
    if built["scheduler"] is not None:
        try:
            built["scheduler"](optimizer)
        except (TypeError, ValueError) as error:
            return [Problem("scheduler", str(error))]
    return []


def _placeholder(config: Config) -> DataSpec:
    """Stands in for what only the data knows. Sizes are arbitrary; the sides are equal where they will be."""
    data = config["data"]
    longest = data.get("maximum_length", 2)
    joint = (data.get("tokenizer") or {}).get("joint", False)
    sides = [
        TextSpec(tokenizer=name, size=8, maximum_length=longest)
        for name in ("source", "source" if joint else "target")
    ]
    return DataSpec(name="placeholder", source=sides[0], target=sides[1], test_hash="", vocabulary_hash="")
