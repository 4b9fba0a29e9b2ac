"""Does a value of a configuration fit a type annotation?

A value is a number, a text, a truth value, null, a list, a mapping, or a part to build: a mapping with a
`_target_`, and with `_partial_: true` where the receiver completes it. Annotations that say nothing about
such values (a type variable, a name for type checkers only) fit everything.
"""

import collections.abc
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from zoo.config.allowed import locate, permitted
from zoo.core.problems import Problem, joined, similar, unknown

TARGET, PARTIAL = "_target_", "_partial_"

_NULL = type(None)
_WORDS: dict[Any, str] = {
    **{int: "a whole number", float: "a number", str: "text", bool: "true or false"},
    **{None: "null", _NULL: "null", Path: "a path"},
}


def annotations(target: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a class's constructor, those that can be evaluated."""
    function = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
    try:
        return get_type_hints(function)
    except Exception:  # names that exist for type checkers only
        return {}


def misplaced(value: Any, annotation: Any, key: str, taker: str) -> Iterator[Problem]:
    """Where a value does not fit its annotation: inside mappings and lists, each entry by its own key.

    Args:
        value: plain containers.
        annotation: what it shall be.
        key: the value's full key.
        taker: begins the message, e.g. `Seq2Seq takes`.
    """
    entries = _entries(annotation) if isinstance(value, dict) and TARGET not in value else None
    items = _items(annotation, len(value)) if isinstance(value, list) else None
    if items is not None:
        for position, (part, kind) in enumerate(zip(value, items, strict=True)):
            yield from misplaced(part, kind, joined(key, position), taker)
        return
    if entries is None:
        if not fits(value, annotation):
            said = f"{taker} {described(annotation)}, got {shown(value)}"
            yield Problem(key, said + _hint(value, annotation, key))
        return
    if isinstance(entries, dict):
        yield from (
            Problem(joined(key, name), f"no such setting{unknown(str(name), entries)}")
            for name in value
            if name not in entries
        )
        yield from (
            Problem(joined(key, name), "is missing") for name in sorted(_required(annotation) - value.keys())
        )
    for name, part in value.items():
        kind = entries.get(name) if isinstance(entries, dict) else entries
        if kind is not None:
            yield from misplaced(part, kind, joined(key, name), taker)


def fits(value: Any, annotation: Any) -> bool:
    """True unless the annotation surely excludes the value."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in get_args(annotation))
    if origin is Literal:
        return any(value == option and type(value) is type(option) for option in get_args(annotation))
    if annotation in (None, _NULL):
        return value is None
    if annotation in (Any, object, inspect.Parameter.empty):
        return True
    if isinstance(value, dict) and TARGET in value:
        return _built_fits(value, annotation)
    if origin is collections.abc.Callable:
        return False
    if is_typeddict(annotation):
        return isinstance(value, dict) and not any(misplaced(value, annotation, "", ""))
    if isinstance(origin, type):
        return _container_fits(value, origin, get_args(annotation))
    return not isinstance(annotation, type) or _plain_fits(value, annotation)


def takes_path(annotation: Any) -> bool:
    """True where a path is meant, perhaps among others."""
    return annotation is Path or any(map(takes_path, get_args(annotation)))


def described(annotation: Any) -> str:
    """An annotation in words that fit into a message."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(annotation) if _can_be_written(option)]
        return " or ".join(dict.fromkeys(described(option) for option in options))
    if origin is Literal:
        return ", ".join(repr(option) for option in get_args(annotation))
    if annotation in _WORDS:
        return _WORDS[annotation]
    if origin is collections.abc.Callable:
        made = next(iter(get_args(annotation)[1:]), None)
        return f"{described(made)} (_partial_: true)" if isinstance(made, type) else "something to call"
    if isinstance(origin, type) and issubclass(origin, tuple) and get_args(annotation)[-1] is not Ellipsis:
        return f"a list of {len(get_args(annotation))}"
    if isinstance(origin, type):
        return "a mapping" if _is_mapping(origin) else "a list"
    if is_typeddict(annotation):
        return "a mapping"
    name = str(getattr(annotation, "__name__", annotation))
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name} to build"


def shown(value: Any) -> str:
    """A value as a message shows it: as it is written in YAML, a part to build by its class."""
    if isinstance(value, dict) and isinstance(value.get(TARGET), str):
        completed = " (_partial_: true)" if value.get(PARTIAL) is True else ""
        return f"{value[TARGET].rpartition('.')[2]}{completed}"
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _entries(annotation: Any) -> dict[str, Any] | Any | None:
    """What a mapping holds: annotations by key, one annotation for all, or None for no mapping."""
    for option in (
        get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else [annotation]
    ):
        if is_typeddict(option):
            return get_type_hints(option)
        origin = get_origin(option)
        if isinstance(origin, type) and _is_mapping(origin):
            return get_args(option)[1]
    return None


def _items(annotation: Any, length: int) -> Sequence[Any] | None:
    """The annotation of each item of a list of that length; None where it is no list's, or of several."""
    options = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else [annotation]
    found: list[Sequence[Any] | None] = []
    for option in options:
        origin, items = get_origin(option), get_args(option)
        if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable) and items:
            if issubclass(origin, tuple) and items[-1] is not Ellipsis:
                found.append(items if len(items) == length else None)
            elif not _is_mapping(origin):
                found.append([items[0]] * length)
    return found[0] if len(found) == 1 else None


def _required(annotation: Any) -> frozenset[str]:
    """Names that a mapping of this kind must have."""
    options = (annotation, *get_args(annotation))
    return next((option.__required_keys__ for option in options if is_typeddict(option)), frozenset())


def _can_be_written(annotation: Any) -> bool:
    """False for classes that no YAML can give, e.g. a tensor."""
    return not isinstance(annotation, type) or annotation in _WORDS or permitted(annotation)


def _hint(value: Any, annotation: Any, key: str) -> str:
    if isinstance(value, list) and value and all(fits(part, annotation) for part in value):
        return f"; to run a job with each: -m {key}={','.join(map(str, value))}"
    items = None if isinstance(value, list | dict | None) else _items(annotation, 1)
    if items is not None and fits(value, items[0]):
        return f"; write it as a list: {key}=[{value}]"
    if isinstance(value, bool | int | float) and fits("", annotation):
        written = "..." if isinstance(value, float) else shown(value)  # 1e5 has become 100000.0
        return f"; in quotes it is text: '\"{written}\"'"
    return similar(str(value), _choices(annotation))


def _choices(annotation: Any) -> list[str]:
    """The texts among which an annotation lets choose."""
    if get_origin(annotation) is Literal:
        return [option for option in get_args(annotation) if isinstance(option, str)]
    return [choice for option in get_args(annotation) for choice in _choices(option)]


def _is_mapping(origin: type) -> bool:
    return issubclass(origin, collections.abc.Mapping)


def _built_fits(value: dict[str, Any], annotation: Any) -> bool:
    built, completed = locate(value[TARGET]), value.get(PARTIAL, False)
    if get_origin(annotation) is collections.abc.Callable:
        if not completed:  # the object itself is called
            return any("__call__" in vars(base) for base in built.__mro__)
        # Without a word on what the call makes it is a function that is meant, and no configuration has any.
        return bool(get_args(annotation)) and fits({TARGET: value[TARGET]}, get_args(annotation)[1])
    if completed or get_origin(annotation) is not None or annotation in _WORDS:
        return False
    # A constructor may still add what a protocol asks for.
    return not isinstance(annotation, type) or _is_protocol(annotation) or issubclass(built, annotation)


def _is_protocol(annotation: type) -> bool:
    return bool(getattr(annotation, "_is_protocol", False))


def _container_fits(value: Any, origin: type, items: tuple[Any, ...]) -> bool:
    if _is_mapping(origin):
        return isinstance(value, dict) and all(fits(part, items[1]) for part in value.values())
    if not isinstance(value, list):
        return False
    if issubclass(origin, tuple) and items[-1] is not Ellipsis:
        return len(value) == len(items) and all(map(fits, value, items))
    return all(fits(part, items[0]) for part in value)


def _plain_fits(value: Any, annotation: type) -> bool:
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation is Path:
        return isinstance(value, str)
    return not _is_protocol(annotation) and isinstance(value, annotation)
