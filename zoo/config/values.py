"""Does a value fit a type annotation? Only simple annotations are judged; anything else fits."""

import inspect
import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_SIMPLE = (int, float, str, bool)


def annotations(target: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a class's constructor, those that can be evaluated."""
    function = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
    try:
        return get_type_hints(function)
    except Exception:  # names that exist for type checkers only
        return {}


def fits(value: Any, annotation: Any) -> bool:
    """True unless the annotation surely excludes the value."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in get_args(annotation))
    if origin is Literal:
        return value in get_args(annotation)
    if annotation in (None, type(None)):
        return value is None
    if annotation not in _SIMPLE:
        return True if annotation is inspect.Parameter.empty else _fits_other(value, annotation)
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, annotation)


def _fits_other(value: Any, annotation: Any) -> bool:
    """What is built, or a container, never is a number or a truth value; a text may be parsed, so it fits."""
    if not isinstance(value, bool | int | float) or annotation in (Any, object):
        return True
    if get_origin(annotation) is not None:
        return False
    return not isinstance(annotation, type) or isinstance(value, annotation)


def choices(annotation: Any) -> list[str]:
    """The texts among which an annotation lets choose."""
    if get_origin(annotation) is Literal:
        return [option for option in get_args(annotation) if isinstance(option, str)]
    return [choice for option in get_args(annotation) for choice in choices(option)]


def described(annotation: Any) -> str:
    """An annotation in words that fit into a message."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(described(option) for option in get_args(annotation))
    if origin is Callable:
        return "something to build"
    if origin is Literal:
        return ", ".join(repr(option) for option in get_args(annotation))
    if annotation in (None, type(None)):
        return "null"
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))
