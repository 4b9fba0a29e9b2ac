"""What a task may ask of a configuration before anything is run."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.core.problems import Problem


@dataclass(frozen=True)
class Configured:
    """A resolved configuration, and the means to understand its parts.

    Attributes:
        config: plain containers.
        given: the overrides, `key=value`.
        kind: the class that a part names; None where it names none.
        build: builds a part, given with its key.
    """

    config: Mapping[str, Any]
    given: Collection[str]
    kind: Callable[[Any], type | None]
    build: Callable[[Any, str], Any]

    @property
    def reads(self) -> bool:
        """Whether the model has attention."""
        return uses_attention(self.config["model"])

    @property
    def samples(self) -> bool:
        """Whether the model's attention samples its readings."""
        selection = self.kind(self.config.get("selection"))
        return uses_attention(self.config["model"], "selection") and getattr(selection, "samples", False)

    @property
    def looks(self) -> bool:
        """Whether the model takes glimpses."""
        return "policy" in self.config["model"]

    @property
    def learns_where_to_look(self) -> bool:
        """Whether it learns where to take them."""
        return self.looks and getattr(self.kind(self.config.get("policy")), "learned", False)


Rule = Callable[[Configured], Iterator[Problem]]
"""Yields the problems of a configuration."""


def uses_attention(node: Any, part: str = "score") -> bool:
    """Whether a part of attention stands anywhere below a node of a configuration.

    It does as `attention.<part>`; a score also alone, as a match of two texts, `input_match` or the like.
    """
    if not isinstance(node, dict):
        return False
    attention = node.get("attention")
    if isinstance(attention, dict) and part in attention:
        return True
    if part == "score" and any(name.endswith("_match") and value is not None for name, value in node.items()):
        return True
    return any(uses_attention(value, part) for value in node.values())
