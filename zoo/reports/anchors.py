"""Published numbers, kept in results/anchors.yaml with their source, beside what was measured here."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from zoo.core.problems import unknown

Seen = Literal["read", "copied", "remembered"]
"""How sure a number is; results/anchors.yaml says what the words mean."""


class _Entry(BaseModel):
    """An entry of the file."""

    model_config = ConfigDict(strict=True)

    source: Annotated[str, Field(min_length=1)]
    seen: Seen
    numbers: Annotated[dict[str, Annotated[dict[str, FiniteFloat], Field(min_length=1)]], Field(min_length=1)]
    differs: str = ""
    other_test: bool = False


class Anchor(NamedTuple):
    """What others reached.

    Attributes:
        experiment: our recipe that does the same.
        overrides: what is to be typed beyond it.
        numbers: by metric, in our units.
        source: where they were published.
        seen: see `Seen`.
        differs: what was other than here; may be empty.
        other_test: whether other items were tested, or by another measure.
    """

    experiment: str
    overrides: tuple[str, ...]
    numbers: Mapping[str, float]
    source: str
    seen: str
    differs: str = ""
    other_test: bool = False


def read_anchors(path: Path) -> list[Anchor]:
    """The published numbers; none where there is no such file.

    Raises:
        ValueError: an entry lacks something, or says what cannot be understood.
    """
    if not path.exists():
        return []
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return [
        anchor
        for place, entry in enumerate(entries, 1)
        for anchor in _anchors(entry, f"{path}, entry {place}")
    ]


def _anchors(entry: Mapping[str, Any], where: str) -> list[Anchor]:
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: must be keys and values, got {entry!r}")
    _require(entry, list(_Entry.model_fields), "key", where)
    _require([entry["seen"]] if "seen" in entry else [], get_args(Seen), "value of seen", where)
    try:
        read = _Entry.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        key = ": ".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {key}: {first['msg']}, got {first['input']!r}") from error
    return [
        Anchor(*_typed(typed, where), numbers, read.source, read.seen, read.differs, read.other_test)
        for typed, numbers in read.numbers.items()
    ]


def _typed(text: str, where: str) -> tuple[str, tuple[str, ...]]:
    """The recipe, and what is typed beyond it."""
    try:
        experiment, *overrides = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{where}: numbers: {text!r} names no recipe") from error
    return experiment, tuple(overrides)


def _require(given: Sequence[Any] | Mapping[str, Any], allowed: Sequence[str], what: str, where: str) -> None:
    for name in given:
        if name not in allowed:
            raise ValueError(f"{where}: there is no {what} {name!r}{unknown(str(name), allowed)}")
