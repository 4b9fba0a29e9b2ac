"""A recipe with a model that it was not written for: all that it says besides its own model."""

import inspect
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from omegaconf import DictConfig

from zoo.config.allowed import locate
from zoo.config.choices import parts_of
from zoo.config.overrides import ERRORS, key_of

log = logging.getLogger(__name__)


def composed_for(overrides: Sequence[str], compose: Callable[[Sequence[str]], DictConfig]) -> DictConfig:
    """Composes what was typed.

    Where `model=` stands beside `experiment=`, and the recipe sets what this model does not have, the recipe
    gives everything but its settings of the model. A warning says so.

    Args:
        overrides: as typed for one run.
        compose: fails with one of `ERRORS` on what does not fit.

    Raises:
        Exception: one of `ERRORS`, of what was typed.
    """
    typed = {key_of(text): text for text in overrides}
    may_borrow = "experiment" in typed and "model" in typed
    try:
        composed = compose(overrides)
    except ERRORS:
        found = _borrowed(typed, overrides, compose) if may_borrow else None
        if found is None:
            raise
        return found
    if may_borrow and not _takes_all(composed.model):
        return _borrowed(typed, overrides, compose) or composed
    return composed


def _borrowed(
    typed: Mapping[str, str], overrides: Sequence[str], compose: Callable[[Sequence[str]], DictConfig]
) -> DictConfig | None:
    """What was typed, with the parts of the recipe in its place; None where these do not fit either."""
    parts = _parts(typed["experiment"].partition("=")[2], overrides)
    if not parts:
        return None
    try:
        found = compose(parts)
    except ERRORS:
        return None
    _tell(typed["experiment"], typed["model"])
    return found


@cache
def _tell(recipe: str, model: str) -> None:
    """Once for all jobs of a sweep."""
    log.warning("%s sets what %s does not have; all else of it is taken", recipe, model)


def _parts(recipe: str, overrides: Sequence[str]) -> list[str]:
    """What was typed, with the parts of a recipe in its place; nothing where there is no such recipe."""
    words = shlex.split(" ".join(parts_of(recipe)))
    others = [text for text in overrides if key_of(text) != "experiment"]
    keys = {key_of(text) for text in others}
    return [*(word for word in words if key_of(word) not in keys), *others] if words else []


def _takes_all(model: object) -> bool:
    """Whether a network's constructor has a parameter for each of its settings."""
    if not isinstance(model, DictConfig) or "_target_" not in model:
        return True  # the check says what is wrong with it
    try:
        parameters = inspect.signature(locate(model["_target_"])).parameters
    except (AttributeError, ImportError, TypeError, ValueError):
        return True
    return all(str(name).startswith("_") or name in parameters for name in model)
