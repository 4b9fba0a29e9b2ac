"""Whatever value a setting is given, the check passes it or says what is wrong with it."""

import copy
import math
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from zoo.config import resolvers
from zoo.config.check import check
from zoo.config.compose import compose_jobs
from zoo.core.problems import ConfigError
from zoo.runs.frozen import Config

CONF = Path(__file__).parents[2] / "conf"
BAD: list[Any] = [None, -1, 0, 1e30, math.nan, "x", [], {}]
WORSE: list[Any] = [True, 0.5, math.inf, 10**30, "", "\n", [1, 2], {"a": 1}]
Path_ = tuple[str | int, ...]


def places(node: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every key of a configuration, groups and lists' entries too."""
    if path:
        yield path
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, value in entries:
        yield from places(value, (*path, name))


def put(config: Config, path: Path_, value: Any) -> None:
    node: Any = config
    for name in path[:-1]:
        node = node[name]
    node[path[-1]] = value


def try_everywhere(base: Config, *values: Any) -> None:
    """Each place gets the next of the values."""
    check(base)
    for path, value in zip(places(base), cycle(values), strict=False):
        config = copy.deepcopy(base)
        put(config, path, value)
        judge(config, ".".join(map(str, path)))


@pytest.mark.slow
def test_a_bad_value_in_the_default(config: Config) -> None:
    try_everywhere(config, *BAD[:-1])  # seven: neighbours get others


@pytest.mark.slow
@pytest.mark.parametrize("value", BAD, ids=repr)
def test_any_value_in_the_default(config: Config, value: Any) -> None:
    try_everywhere(config, value)


@pytest.mark.slow
@pytest.mark.parametrize("value", [*BAD, *WORSE], ids=repr)
@pytest.mark.parametrize(
    "line",
    [
        ["data=multi30k", "decoding=sample", "scheduler=plateau", "selection=local_predictive"],
        ["experiment=reverse", "selection=hard", "attention=location", "optimizer=adamw"],
        ["selection=gumbel_hard", "attention=cosine", "scheduler=inverse_square_root", "logger=csv"],
        ["model=transformer", "model/positions=learned", "model.window=3", "attention=additive"],
    ],
    ids=" ".join,
)
def test_any_value_in_any_part(line: list[str], value: Any) -> None:
    resolvers.register()
    sizes = (
        ("model_size", "feed_forward_size")
        if "model=transformer" in line
        else ("embedding_size", "hidden_size")
    )
    small = ["trainer=cpu", *(f"model.{name}=8" for name in sizes)]
    try_everywhere(compose_jobs(CONF, [*line, *small], False)[0].config, value)


def judge(config: Config, key: str) -> None:
    try:
        check(config)
    except ConfigError as error:
        message = str(error)
        group, name = key.split(".")[0], key.rpartition(".")[2]
        named = {problem.key.split(".")[0].split("[")[0] for problem in error.problems}
        assert group in named or name in message, f"{key}: {message}"
        assert len(message) < 3000, f"{key}: {message}"
        assert "Traceback" not in message
    except Exception as error:
        pytest.fail(f"{key}: {type(error).__name__}: {error}")
