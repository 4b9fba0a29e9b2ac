"""Published numbers, kept in results/anchors.yaml with their source, beside what was measured here."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from zoo.core.problems import unknown

SEEN = ("read", "copied", "remembered")
"""How sure a number is; results/anchors.yaml says what the words mean."""
_REQUIRED, _OPTIONAL = ("source", "seen", "numbers"), ("differs", "other_test")


class Anchor(NamedTuple):
    """What others reached.

    Attributes:
        experiment: our recipe that does the same.
        overrides: what is to be typed beyond it.
        numbers: by metric, in our units.
        source: where they were published.
        seen: one of `SEEN`.
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
    if missing := [key for key in _REQUIRED if not entry.get(key)]:
        raise ValueError(f"{where}: has no {missing[0]}; needed: {', '.join(_REQUIRED)}")
    _require(entry, (*_REQUIRED, *_OPTIONAL), "key", where)
    _require([entry["seen"]], SEEN, "value of seen", where)
    anchors = []
    for typed, numbers in entry["numbers"].items():
        experiment, *overrides = shlex.split(typed)
        anchors.append(
            Anchor(
                experiment,
                tuple(overrides),
                numbers,
                entry["source"],
                entry["seen"],
                entry.get("differs", ""),
                bool(entry.get("other_test", False)),
            )
        )
    return anchors


def _require(given: Sequence[str] | Mapping[str, Any], allowed: Sequence[str], what: str, where: str) -> None:
    for name in given:
        if name not in allowed:
            raise ValueError(f"{where}: there is no {what} {name!r}{unknown(str(name), allowed)}")
