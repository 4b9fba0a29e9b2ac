"""A nested configuration as one level of names and values."""

from collections.abc import Iterator, Mapping
from typing import Any


def flat(node: Any, separator: str, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its full key; a part to build by the name of its class, above its arguments.

    Args:
        node: plain containers; lists and empty mappings are values.
        separator: between the names that make a key.
        key: the node's own.

    Yields:
        Keys and values, without those that are None.
    """
    if isinstance(node, Mapping) and node:
        for name, value in node.items():
            if name == "_target_":
                yield key, str(value).rpartition(".")[2]
            elif name != "_partial_":
                yield from flat(value, separator, f"{key}{separator}{name}" if key else str(name))
    elif node is not None:
        yield key, node
