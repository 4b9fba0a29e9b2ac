"""A nested configuration as pairs of full keys and values."""

from collections.abc import Iterator, Mapping
from typing import Any


def flat(node: Any, separator: str, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every full key with its value, except None.

    A part with a `_target_` yields the name of its class under its own key, then its arguments.

    Args:
        node: plain containers; lists and empty mappings are values.
        separator: joins the names of a key.
        key: of the node itself.
    """
    if isinstance(node, Mapping) and node:
        for name, value in node.items():
            if name == "_target_":
                yield key, str(value).rpartition(".")[2]
            elif name != "_partial_":
                yield from flat(value, separator, f"{key}{separator}{name}" if key else str(name))
    elif node is not None:
        yield key, node
