"""`either=(...),(...)`: settings that vary together, or that only some jobs of a sweep have.

Each pair of parentheses holds what would be typed behind `-m`, a product of its own, which the rest of the
command line multiplies. Hydra's grammar has no such value: these overrides are taken out before it reads any.
"""

import re
from collections.abc import Iterator, Sequence

from zoo.config.overrides import key_of
from zoo.core.problems import ConfigError, Problem

KEY = "either"
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_NEXT = re.compile(r"\s*(~[A-Za-z_][\w./@-]*|\+*[A-Za-z_][\w./@-]*=)")
"""The beginning of a setting: a comma before it separates two settings, and any other one two values."""


def is_either(override: str) -> bool:
    """Whether an override is one of these."""
    return override.partition("=")[0].strip() == KEY


def parted(overrides: Sequence[str]) -> tuple[list[str], list[list[list[str]]]]:
    """Takes these overrides out of others.

    Args:
        overrides: as typed.

    Returns:
        The others; and of each of these its alternatives, which are lists of overrides.

    Raises:
        ConfigError: one cannot be read, or sets what another override sets, too.
    """
    others = [text for text in overrides if not is_either(text)]
    read, problems = [], []
    taken = [key_of(text) for text in others]
    for text in (text for text in overrides if is_either(text)):
        try:
            alternatives = _alternatives(text.partition("=")[2])
            _require_own(alternatives, taken)
        except ValueError as error:
            problems.append(Problem(text, str(error)))
        else:
            taken += [key_of(one) for alternative in alternatives for one in alternative]
            read.append(alternatives)
    if problems:
        raise ConfigError(problems)
    return others, read


def _require_own(alternatives: Sequence[Sequence[str]], taken: Sequence[str]) -> None:
    """Refuses settings that are given twice: the last one would win without a word."""
    for alternative in alternatives:
        keys = [key_of(one) for one in alternative]
        for key in keys:
            if key in ("sweep", KEY):
                raise ValueError(f"cannot hold {key}=: give it beside the parentheses")
            if key in taken:
                raise ValueError(f"sets {key}, which is set beside the parentheses, too: leave one out")
            if keys.count(key) > 1:
                raise ValueError(f"sets {key} twice within ({' '.join(alternative)})")


def _alternatives(text: str) -> list[list[str]]:
    """The settings in each pair of parentheses.

    Raises:
        ValueError: the text is something else.
    """
    found, rest = [], text.strip()
    while True:
        if not rest.startswith("("):
            said = f", got {rest!r}" if rest else ""
            raise ValueError(f"takes alternatives in parentheses: {KEY}=(a=1,b=2),(a=3,b=4){said}")
        end = _end(rest)
        settings = list(_parts(rest[1:end]))
        if not settings:
            raise ValueError("has nothing between two parentheses")
        for setting in settings:
            if not _NEXT.match(setting):
                raise ValueError(f"{setting!r} within the parentheses is no setting; write key=value")
        found.append(settings)
        rest = rest[end + 1 :].strip()
        if not rest:
            return found
        if not rest.startswith(","):
            raise ValueError(f"needs a comma between two pairs of parentheses, got {rest!r}")
        rest = rest[1:].strip()


def _end(text: str) -> int:
    """Where the parenthesis that a text begins with is closed.

    Raises:
        ValueError: nowhere.
    """
    for place, _, depth in _walk(text):
        if not depth:
            return place
    raise ValueError(f"a parenthesis is not closed: {text!r}")


def _parts(text: str) -> Iterator[str]:
    """The settings of a text: blanks, and commas before a key, stand between them."""
    start = 0
    for place, letter, depth in _walk(text):
        if not depth and (letter.isspace() or (letter == "," and _NEXT.match(text, place + 1))):
            if text[start:place].strip():
                yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _walk(text: str) -> Iterator[tuple[int, str, int]]:
    """Every character that no quotes hold, with its place and how many brackets are open behind it.

    Raises:
        ValueError: brackets or quotes do not match.
    """
    expected: list[str] = []
    quote = ""
    escaped = False
    for place, letter in enumerate(text):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            if letter in _CLOSING:
                expected.append(_CLOSING[letter])
            elif letter in _CLOSING.values() and (not expected or expected.pop() != letter):
                raise ValueError(f"a {letter!r} closes nothing: {text!r}")
            yield place, letter, len(expected)
    if quote:
        raise ValueError(f"a quote is not closed: {text!r}")
