"""Finds everything that is wrong with a resolved configuration before any data is read."""

import inspect
from collections.abc import Collection, Iterator
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from zoo.config.allowed import locate
from zoo.config.frozen import Config
from zoo.config.instantiate import TARGET, instantiate, refusals
from zoo.config.problems import ConfigError, Problem, joined, similar, unknown
from zoo.config.rules import RULES
from zoo.config.sweeps import sweep_problems
from zoo.config.values import annotations, choices, described, fits
from zoo.spec import DataSpec
from zoo.text import SPECIAL_TOKENS, text_spec

_VALUES = {
    "name": str,
    "seed": int,
    "experiment": str | None,
    "test": bool,
    "check": bool,
}
_GROUPS = {
    *("attention", "selection", "model", "data", "task", "optimizer", "scheduler", "decoding"),
    *("trainer", "callbacks", "logger", "paths", "sweep"),
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
    problems += sweep_problems(config.get("sweep"))
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
            message = f"{target.__name__} takes {described(kinds[name])}, got {value!r}"
            yield Problem(joined(key, name), message + similar(str(value), choices(kinds[name])))
    if not node.get("_partial_") and "_args_" not in node:
        for name in sorted(takes - node.keys()):
            if parameters[name].default is inspect.Parameter.empty:
                yield Problem(joined(key, name), f"{target.__name__} needs it, and it is missing")


def _refused(config: Config) -> list[Problem]:
    """Builds what needs no data and no memory, so that constructors say themselves what they refuse."""
    problems = []
    parts: dict[str, Any] = {}
    for key in ("decoding", "data", "model", "optimizer", "scheduler", "task"):
        try:
            parts[key] = instantiate(config[key], key)
        except ConfigError as error:
            problems += error.problems
    if problems:
        return problems
    spec = placeholder(config)
    key = "model"
    try:
        with torch.device("meta"):
            network = parts[key](spec=spec)
            key = "task"
            task = parts[key](network=network, spec=spec)
        key = "optimizer"
        optimizer = parts[key](task.parameters())
        key = "scheduler"
        if parts[key] is not None:
            parts[key](optimizer)
    except (TypeError, ValueError) as error:
        return [Problem(key, str(error))]
    return []


def _vocabulary(word: str) -> str:
    words = {token: number for number, token in enumerate((*SPECIAL_TOKENS, word))}
    return str(Tokenizer(WordLevel(words, unk_token=SPECIAL_TOKENS[1])).to_str())


def placeholder(config: Config) -> DataSpec:
    """Stands in for what only the data knows. Sizes are arbitrary; the sides are equal where they will be."""
    data = config["data"]
    longest = data.get("maximum_length", 2)
    joint = (data.get("tokenizer") or {}).get("joint", False)
    sides = [
        text_spec(_vocabulary(word), maximum_length=longest)
        for word in ("source", "source" if joint else "target")
    ]
    return DataSpec(name="placeholder", source=sides[0], target=sides[1], test_hash="", vocabulary_hash="")
