"""The only place that turns configuration into objects."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from zoo.config.allowed import NotAllowed, locate
from zoo.config.values import PARTIAL, TARGET
from zoo.core.problems import ConfigError, Problem, joined


def refusals(node: Any, key: str = "") -> Iterator[Problem]:
    """Everything in a resolved configuration that must not be built, however deep."""
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
        # Nothing resolves it any more: a constructor would get it as a text.
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
    return _built(node, key)


def _built(node: Any, key: str) -> Any:
    """What Hydra's own `instantiate` makes of it, which first turns plain containers into configurations."""
    if isinstance(node, list):
        return [_built(value, joined(key, position)) for position, value in enumerate(node)]
    if not isinstance(node, dict):
        return node
    arguments = {
        name: _built(value, joined(key, name))
        for name, value in node.items()
        if name not in (TARGET, PARTIAL)
    }
    if TARGET not in node:
        return arguments
    kind = locate(node[TARGET])
    if node.get(PARTIAL):
        return partial(kind, **arguments)
    try:
        return kind(**arguments)
    except Exception as error:  # whatever a constructor refuses its arguments with
        raise ConfigError([Problem(key, str(error))]) from error
