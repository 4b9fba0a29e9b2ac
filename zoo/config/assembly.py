"""Builds a run on trial, without data and memory: constructors say themselves what they refuse."""

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from torch.optim.lr_scheduler import ReduceLROnPlateau

from zoo.config.allowed import locate
from zoo.config.instantiate import instantiate
from zoo.config.values import TARGET, annotated, members
from zoo.core.problems import ConfigError, Problem, failure, joined
from zoo.core.spec import DataSpec, TextSpec
from zoo.runs.frozen import Config
from zoo.runtime.compiling import compilable_methods
from zoo.training.schedules import complete

_SAID = (TypeError, ValueError, MisconfigurationException)
"""How constructors refuse. Of any other exception the message names the place in the code, too."""

_LACKING = re.compile(r"(\w+)\.__init__\(\) missing .*: '(\w+)'")
"""Python's message about a missing argument."""

_WRITTEN_AT = ("attention", "selection", "policy", "optimizer", "scheduler", "decoding")
"""Groups that other parts take by interpolation."""


def placeholder(config: Config, built: Any = None) -> DataSpec:
    """Stands in for what only the data knows. Sizes are arbitrary; the sides are equal where they will be.

    Args:
        config: complete.
        built: the data module; None: it is built here if need be.

    Raises:
        ConfigError: the data cannot be built, and only it knows its fields.
    """
    data = built or instantiate(config["data"], "data")
    return DataSpec("placeholder", data.placeholder())


def _with_whole_vocabulary(spec: DataSpec, config: Config) -> DataSpec:
    """The specification with vocabularies of the full size that the tokenizer may have."""
    size = (config["data"].get("tokenizer") or {}).get("size")
    if not size:
        return spec
    sized = {
        name: replace(one, size=size) if isinstance(one, TextSpec) else one
        for name, one in spec.fields.items()
    }
    return replace(spec, fields=sized)


class Assembly:
    """A run put together part by part; what a refused part belongs to is left out.

    Args:
        config: resolved; nothing in it is unsafe, of a wrong type or out of a known range.

    Attributes:
        problems: what the constructors refuse, of parts and of the whole.
        data: the data module; None where it is refused.
        parameters: of the network, with the largest vocabulary that the data may have; 0 where it is refused.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.problems: list[Problem] = []
        self.data: Any = None
        self.parameters = 0
        with _quietly():
            self._assemble()

    def _assemble(self) -> None:
        names = ("decoding", "data", "model", "task", "trainer", "callbacks", "logger")
        parts = {
            name: self._build(name, instantiate, self.config[name], name)
            for name in names
            if name in self.config
        }
        self._steps("")
        if any(self.config["task"].get(name) != self.config[name] for name in ("optimizer", "scheduler")):
            self._steps("task")
        self.data = parts["data"]
        spec = self._build("data", placeholder, self.config, self.data)
        if parts["model"] and spec:
            with torch.device("meta"):
                network = self._build("model", parts["model"], spec=_with_whole_vocabulary(spec, self.config))
                if network is not None:
                    self._compilable(network)
                    self.parameters = sum(weight.numel() for weight in network.parameters())
                if network is not None and parts["task"] and self._has_what_the_task_asks(network):
                    self._build("task", parts["task"], network=network, spec=spec)
        if parts["trainer"] and parts["callbacks"] is not None and parts["logger"] is not None:
            loggers, callbacks = list(parts["logger"].values()), list(parts["callbacks"].values())
            self._build("trainer", parts["trainer"], logger=loggers, callbacks=callbacks)

    def _has_what_the_task_asks(self, network: torch.nn.Module) -> bool:
        """Names the members that the task's protocol asks for and the network has not."""
        task = locate(self.config["task"][TARGET])
        protocol = annotated(task).get("network")
        lacking = [name for name in sorted(members(protocol)) if not hasattr(network, name)]
        if lacking:
            where = f"{protocol.__name__} in {protocol.__module__.replace('.', '/')}.py"  # type: ignore[union-attr]
            kind, names = type(network).__name__, ", ".join(lacking)
            self.problems.append(
                Problem("model", f"{kind} lacks {names}: {task.__name__} needs them ({where})")
            )
        return not lacking

    def _compilable(self, network: torch.nn.Module) -> None:
        """What is asked for must change something."""
        if self.config.get("compile") and not any(compilable_methods(network)):
            message = "true changes nothing: no part of this model gains by being compiled; leave it out"
            self.problems.append(Problem("compile", message))

    def _steps(self, holder: str) -> None:
        """One step of optimiser and schedule: some refuse only then."""
        node = self.config[holder] if holder else self.config
        key = joined(holder, "optimizer")
        weight = torch.nn.Parameter(torch.zeros(1))
        weight.grad = torch.zeros(1)

        def step() -> torch.optim.Optimizer:
            made: torch.optim.Optimizer = instantiate(node["optimizer"], key)([weight])
            made.step()
            return made

        def advance() -> None:
            make = instantiate(node["scheduler"], joined(holder, "scheduler"))
            spent = None if self.config["trainer"].get("max_time") is None else float
            schedule = complete(make, optimizer, spent)
            schedule.step(0.0) if isinstance(schedule, ReduceLROnPlateau) else schedule.step()

        optimizer = self._build(key, step)
        if optimizer is not None and node["scheduler"] is not None:
            self._build(joined(holder, "scheduler"), advance)

    def _build(self, key: str, make: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """What `make` makes, or None and a problem."""
        try:
            return make(*arguments, **named)
        except ConfigError as error:
            for problem in error.problems:
                self._blame(problem.key, problem.message)
        except _SAID as error:
            self._blame(key, str(error))
        except Exception as error:
            self._blame(key, f"cannot be built: {failure(error)}")
        return None

    def _blame(self, key: str, message: str) -> None:
        message = message.strip().splitlines()[0] if message.strip() else "cannot be built"
        if lacking := _LACKING.match(message):
            part, name = lacking.groups()
            places = (place for place, node in _below(_at(self.config, key), key) if _class(node) == part)
            key, message = joined(next(places, key), name), f"{part} needs it, and it is missing"
        else:
            key = _blamed(self.config, key, message)
        name = key.rpartition(".")[2]
        message = re.sub(rf"^{re.escape(name)} (?=must|needs)", "", message)  # the key says it already
        self.problems.append(Problem(_written(self.config, key), message))


@contextmanager
def _quietly() -> Iterator[None]:
    """A context without warnings and logs, which the run itself will give."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _blamed(config: Config, key: str, message: str) -> str:
    """The full key of the value that a message is about, as far as its words tell."""
    named = [
        (_class(part) in message.split(":")[0].split(), found.start(), place, name)
        for place, part in _below(_at(config, key), key)
        for name in part
        if (found := re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", message))
    ]
    if not named:
        return key
    # A class that names itself is meant; else the outermost part, and the first word.
    _, _, place, name = min(named, key=lambda one: (not one[0], one[2].count("."), one[1]))
    return joined(place, name)


def _class(node: Mapping[str, Any]) -> str:
    return str(node.get(TARGET, "")).rpartition(".")[2]


def _below(node: Any, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(node, dict):
        yield key, node
        for name, value in node.items():
            yield from _below(value, joined(key, name))


def _at(config: Config, key: str) -> Any:
    node: Any = config
    for part in key.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return node


def _written(config: Config, key: str) -> str:
    """The key where a value was written that other parts take by interpolation."""
    parts = key.split(".")
    for length in range(len(parts), 1, -1):
        node = _at(config, ".".join(parts[:length]))
        for group in _WRITTEN_AT:
            if isinstance(node, dict) and node == config.get(group):
                return ".".join([group, *parts[length:]])
    return key
