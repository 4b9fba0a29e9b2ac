"""What is wrong with a configuration, said so that it can be put right."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


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


def unknown(name: str, allowed: Iterable[str]) -> str:
    """The tail of a message about a name that does not exist: the nearest that does, and all that do."""
    names = sorted(allowed)
    return f"{similar(name, names) or ';'} allowed: {', '.join(names) if names else 'nothing'}"


def similar(name: str, allowed: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing where nothing is near. What begins with the name is nearest."""
    names = sorted(allowed)
    longer = [one for one in names if name and one.startswith(name)]
    matches = longer[:3] or difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""


def joined(key: str, part: Any) -> str:
    """The full key of a part of `key`."""
    if isinstance(part, int):
        return f"{key}[{part}]"
    return f"{key}.{part}" if key else str(part)
