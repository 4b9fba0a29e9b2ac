"""What a task may say of a configuration before anything is run."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.core.problems import Problem


@dataclass(frozen=True)
class Configured:
    """A resolved configuration, and how its parts are understood.

    Attributes:
        config: in plain containers.
        given: what was asked for explicitly, `key=value`.
        kind: the class that a part names; None where it names none.
        build: makes what a part describes; takes the part and its key.
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
        """Whether the model's attention samples what it reads."""
        selection = self.kind(self.config.get("selection"))
        return uses_attention(self.config["model"], "selection") and getattr(selection, "samples", False)

    @property
    def looks(self) -> bool:
        """Whether the model chooses places to look at."""
        return "policy" in self.config["model"]

    @property
    def learns_where_to_look(self) -> bool:
        """Whether it learns to choose them."""
        return self.looks and getattr(self.kind(self.config.get("policy")), "learned", False)


Rule = Callable[[Configured], Iterator[Problem]]
"""Yields what is wrong."""


def uses_attention(node: Any, part: str = "score") -> bool:
    """True when `attention.<part>` stands anywhere below the node, so that it reads by attention."""
    if not isinstance(node, dict):
        return False
    attention = node.get("attention")
    return (isinstance(attention, dict) and part in attention) or any(
        uses_attention(value, part) for value in node.values()
    )
