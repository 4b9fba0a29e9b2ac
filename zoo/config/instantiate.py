"""The only place that turns configuration into objects."""

import re
from collections.abc import Iterator
from typing import Any

import hydra.utils
from hydra.errors import InstantiationException

from zoo.config.allowed import NotAllowed, locate
from zoo.config.values import TARGET
from zoo.core.problems import ConfigError, Problem, joined


def refusals(node: Any, key: str = "") -> Iterator[Problem]:
    """Everything in a resolved configuration that must not be built, however deep.

    Args:
        node: plain containers.
        key: the node's full key.
    """
    if isinstance(node, dict):
        if TARGET in node:
            try:
                locate(node[TARGET])
            except NotAllowed as error:
                yield Problem(joined(key, TARGET), str(error))
        for name, value in node.items():
            yield from refusals(value, joined(key, name))
    elif isinstance(node, list):
        for position, value in enumerate(node):
            yield from refusals(value, joined(key, position))
    elif isinstance(node, str) and "${" in node:
        # Hydra would resolve it once more, after the check.
        yield Problem(key, f"{node!r} is an interpolation that was left unresolved")


def instantiate(node: Any, key: str) -> Any:
    """Builds what a part of a resolved configuration describes.

    Args:
        node: plain containers, as `zoo.runs.frozen` gives them.
        key: the node's full key, for messages.

    Returns:
        The object; for `_partial_` a callable that takes what is missing.

    Raises:
        ConfigError: a target is not allowed, or its constructor refuses its arguments.
    """
    problems = list(refusals(node, key))
    if problems:
        raise ConfigError(problems)
    try:
        return hydra.utils.instantiate(node, _convert_="all")
    except InstantiationException as error:
        # Hydra says below `node` where it was; what was wrong stands in the error behind its own.
        where = re.search(r"full_key: (\S+)", str(error))
        full_key = joined(key, where[1]) if where else key
        raise ConfigError([Problem(full_key, str(error.__cause__ or error))]) from error
