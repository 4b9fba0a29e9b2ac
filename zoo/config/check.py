"""Finds everything that is wrong with a resolved configuration before any data is read."""

import inspect
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from torch.nn import Module

from zoo.config.allowed import is_own, locate
from zoo.config.assembly import Assembly, placeholder
from zoo.config.instantiate import refusals
from zoo.config.limits import SETTINGS, limits_of, not_finite, violations
from zoo.config.rules import RULES, data_is_what_the_task_takes
from zoo.config.schema import Settings
from zoo.config.values import PARTIAL, TARGET, annotations, misplaced
from zoo.core.problems import ConfigError, Problem, elsewhere, joined, similar, unknown
from zoo.runs.frozen import Config
from zoo.tasks.task import Task

__all__ = ["Checked", "check", "placeholder"]

_TAKER = re.compile(r"^(must be|\w+ takes) ")
"""How messages about a wrong type begin."""


class Checked(NamedTuple):
    """What is known of a configuration that can run.

    Attributes:
        data: its data module, which has read nothing.
        parameters: of its network, with the largest vocabulary that the data may have.
    """

    data: Any
    parameters: int


def check(config: Config, given: Collection[str] = ()) -> Checked:
    """Refuses a configuration that cannot run, naming all of its problems.

    Args:
        config: the resolved configuration.
        given: what was asked for explicitly, `key=value`.

    Raises:
        ConfigError: something is wrong.
    """
    # Each stage may rely on the ones before it.
    _raise(refusals(config))
    out_of_range = list(_out_of_range(config))
    misfits = [_with_monitors(one, config) for one in _misfits(config)]
    misfits = misfits or list(data_is_what_the_task_takes(config, given))
    if misfits:
        _raise([*out_of_range, *misfits])
    rules = [problem for rule in RULES for problem in rule(config, given)]
    assembly = Assembly(_as_if_here(config, given))
    _raise([*out_of_range, *rules, *assembly.problems])
    return Checked(assembly.data, assembly.parameters)


def _as_if_here(config: Config, given: Collection[str]) -> Config:
    """The trial is built on this machine, which may have no GPU where SLURM's nodes have one."""
    if "hydra/launcher=slurm" not in given:
        return config
    return {**config, "trainer": {**config["trainer"], "accelerator": "cpu"}}


def _raise(problems: Iterable[Problem]) -> None:
    """Raises what was found, if anything: of each key the first, of a part with a bad entry only the entry.

    What stands in several places by interpolation is reported once: where it was written, which comes first.
    """
    found: dict[str, Problem] = {}
    said: set[tuple[str, str]] = set()
    for problem in problems:
        name = problem.key.rpartition(".")[2]
        what, of_all = (name, problem.message), (name, _TAKER.sub("", problem.message))
        known = any(key == problem.key or key.startswith(f"{problem.key}.") for key in found)
        if not known and not {what, of_all} & said:
            found[problem.key] = problem
            # A setting at the top is there for whatever takes it.
            said |= {what} if name != problem.key else {what, of_all}
    if found:
        raise ConfigError(list(found.values()))


def _misfits(config: Config) -> Iterator[Problem]:
    """Names that no constructor takes, and values of a wrong type."""
    yield from misplaced(config, Settings, "", "must be")
    for node, key in _parts(config, ""):
        yield from _signature(node, key, config)


def _with_monitors(problem: Problem, config: Config) -> Problem:
    """What is wrong with a setting; of the monitor also what it may be, which its type does not tell."""
    task = locate(config["task"][TARGET]) if problem.key == "task.monitor" else None
    if task is None or not issubclass(task, Task):
        return problem
    allowed = sorted(f"val/{name}" for name, one in task.metrics.items() if one.better)
    return Problem(problem.key, f"{problem.message}; allowed: {', '.join(allowed)}")


def _out_of_range(config: Config) -> Iterator[Problem]:
    """Numbers that are not finite or beyond their limits."""
    yield from not_finite(config)
    for key, limits in SETTINGS.items():
        holder = config.get(key) if key else config
        yield from violations(holder, limits, key) if isinstance(holder, dict) else ()
    for node, key in _parts(config, ""):
        yield from violations(node, limits_of(locate(node[TARGET])), key)


def misfits(config: Config) -> Iterator[Problem]:
    """What a model and its task cannot be built of: refused targets, arguments that they do not take.

    Args:
        config: of a checkpoint, which nobody has checked.
    """
    for group in ("model", "task"):
        refused = list(refusals(config.get(group), group))
        yield from refused
        for node, key in [] if refused else _parts(config.get(group), group):
            yield from _signature(node, key, config)
            yield from violations(node, limits_of(locate(node[TARGET])), key)
    for group, base in (("model", Module), ("task", Task)):
        kind = config.get(group, {}).get(TARGET) if isinstance(config.get(group), dict) else None
        if kind is None or not (is_own(locate(kind)) and issubclass(locate(kind), base)):
            yield Problem(f"{group}.{TARGET}", f"must name a {group} of this project, got {kind!r}")


def _parts(node: Any, key: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Everything to build, with its full key."""
    if isinstance(node, list):
        for position, value in enumerate(node):
            yield from _parts(value, joined(key, position))
    if not isinstance(node, dict):
        return
    if TARGET in node:
        yield node, key
    for name, value in node.items():
        yield from _parts(value, joined(key, name))


def _signature(node: dict[str, Any], key: str, config: Config) -> Iterator[Problem]:
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
        if name == TARGET:
            continue
        if name == PARTIAL:
            yield from misplaced(value, bool, joined(key, name), "must be")
        elif name not in takes:
            if name.startswith("_") or not open_ended:
                # In a copy by interpolation, the holder has the same name, and the key is as wrong.
                copies = f"{key.rpartition('.')[2]}.{name}"
                meant = [one for one in elsewhere(joined(key, name), config) if not one.endswith(copies)]
                meant = [] if similar(name, takes) else meant
                message = f"{target.__name__} takes no {name}" + unknown(name, takes, meant)
                if not meant and not similar(name, takes):
                    message += "; a ~ before its key leaves out what a recipe has"
                yield Problem(joined(key, name), message)
        elif name in kinds:
            yield from misplaced(value, kinds[name], joined(key, name), f"{target.__name__} takes")
    if not node.get(PARTIAL):
        for name in sorted(takes - node.keys()):
            if parameters[name].default is inspect.Parameter.empty:
                yield Problem(joined(key, name), f"{target.__name__} needs it, and it is missing")
