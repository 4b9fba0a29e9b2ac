"""How a configuration is called in tables: what was typed beyond its recipe, else the recipe."""

from collections.abc import Mapping, Sequence
from typing import Any

NOT_SPECIAL = (
    *("experiment=", "seed=", "name=", "paths.", "sweep", "logger", "callbacks.", "hydra.", "+hydra.", "~"),
    *(
        "data.fold=",
        "data.train=",
        "data.val=",
        "data.test=",
        "data.images.path=",
        "check=",
        "test=",
        "plugins=",
        "trainer=cpu",
    ),
)
"""Beginnings of overrides that change no result, or name folders of a machine."""


def special(overrides: Sequence[str]) -> list[str]:
    """The overrides that can change a result."""
    return [text for text in overrides if not text.startswith(NOT_SPECIAL)]


def label(results: Mapping[str, Any], of: str | None = None) -> str:
    """What is special about a run: what was typed beyond its recipe, else the recipe.

    Args:
        results: the run's, with its special `overrides`.
        of: the recipe that a table is about; in a table of several recipes each row names its own.
    """
    recipe = str(results.get("experiment") or results.get("name"))
    typed = results.get("overrides", [])
    return ",".join(typed if typed and of in (None, recipe) else [recipe, *typed])


def printable(text: str) -> str:
    r"""As UTF-8 can write it: a byte of a folder's name that is none becomes `\udcff` or the like."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
