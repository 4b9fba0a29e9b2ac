"""What is wrong with a configuration, said so that it can be put right."""

import difflib
import traceback
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

_VERY_LIKE = 0.8
"""Of difflib's ratios: `trget` is very like `target`, `rate` is not very like `trainer`."""


class Problem(NamedTuple):
    """One thing that is wrong.

    Attributes:
        key: the full key, as it would be typed on the command line.
        message: what was given, what is allowed, and the nearest match.
    """

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}" if self.key else self.message


class ConfigError(ValueError):
    """A configuration that cannot be run.

    Args:
        problems: all that is wrong, at least one.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = [f"{count} in the configuration, nothing was run:"]
        lines += [f"  {line}" for problem in problems for line in f"- {problem}".splitlines()]
        super().__init__("\n".join(lines))
        self.problems = list(problems)


def failure(error: Exception) -> str:
    """What went wrong in somebody's code, and where: `NameError in scores.py, line 3: ...`."""
    if isinstance(error, SyntaxError):  # is about a file that was read, not run
        file, line, reason = error.filename or "", error.lineno, error.msg
    else:
        frames = traceback.extract_tb(error.__traceback__)
        # Python's own import system comes last where a module does not exist.
        last = [frame for frame in frames if not frame.filename.startswith("<")][-1]
        file, line, reason = last.filename, last.lineno, str(error)
    return f"{type(error).__name__} in {Path(file).name}, line {line}: {reason}"


def unknown(name: str, allowed: Iterable[str], meant: Sequence[str] = ()) -> str:
    """The tail of a message about a name that does not exist: the nearest that does, and all that do.

    Args:
        name: what was given.
        allowed: in its place.
        meant: full keys of the same name in other places, which are nearer.
    """
    names = sorted(allowed)
    nearest = f"; did you mean {' or '.join(meant)}?" if meant else similar(name, names)
    return f"{nearest or ';'} allowed: {', '.join(names) if names else 'nothing'}"


def similar(name: str, allowed: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing where nothing is near. What begins with the name is nearest."""
    names = sorted(allowed)
    longer = [one for one in names if name and one.startswith(name)]
    matches = longer[:3] or difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""


def elsewhere(key: str, tree: Any) -> list[str]:
    """The keys of a tree that somebody may have meant who gave a key that does not exist.

    They end in the same name, or in one very like it where no neighbour of the key is more like it; of
    several those that share the most parts with it.

    Args:
        key: the full key that was given.
        tree: plain containers; what stands there by interpolation is text and holds no keys.

    Returns:
        The nearest first, three at most.
    """
    holder, _, name = key.rpartition(".")
    places = [(found, *found.rpartition(".")[::2]) for found in _keys(tree) if found != key]
    closest = difflib.get_close_matches(name, {last for _, _, last in places}, n=1, cutoff=_VERY_LIKE)
    beside = [last for _, place, last in places if place == holder]
    if not closest or closest[0] in beside:
        return []
    found = [place for place, _, last in places if last == closest[0]]
    most = max(_shared(one, key) for one in found)
    return sorted((one for one in found if _shared(one, key) == most), key=lambda one: one.count("."))[:3]


def _keys(tree: Any, key: str = "") -> Iterator[str]:
    for name, value in tree.items() if isinstance(tree, dict) else ():
        yield joined(key, name)
        yield from _keys(value, joined(key, name))


def _shared(one: str, other: str) -> int:
    """How many parts two keys have in common, from the beginning and from the end."""
    first, second = one.split("."), other.split(".")
    pairs = (zip(first, second, strict=False), zip(first[::-1], second[::-1], strict=False))
    return sum(len(list(takewhile(lambda pair: pair[0] == pair[1], both))) for both in pairs)


def joined(key: str, part: Any) -> str:
    """The full key of a part of `key`."""
    if isinstance(part, int):
        return f"{key}[{part}]"
    return f"{key}.{part}" if key else str(part)
