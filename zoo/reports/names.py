"""How a configuration is called in tables: what was typed beyond its recipe, else the recipe."""

from collections.abc import Mapping
from typing import Any


def recipe_of(results: Mapping[str, Any]) -> str:
    """The recipe; without one the name, but for what was typed, which stands behind a blank."""
    return str(results.get("experiment") or str(results.get("name") or "").partition(" ")[0])


def label(results: Mapping[str, Any], of: str | None = None) -> str:
    """What is special about a run: what was typed beyond its recipe, else the recipe.

    Args:
        results: the run's, with its special `overrides`.
        of: the recipe that a table is about; in a table of several recipes each row names its own.
    """
    recipe = recipe_of(results)
    typed = results.get("overrides", [])
    return ",".join(typed if typed and of in (None, recipe) else [recipe, *typed])


def printable(text: str) -> str:
    r"""As UTF-8 can write it: a byte of a folder's name that is none becomes `\udcff` or the like."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
