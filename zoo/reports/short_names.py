"""Names of rows that leave room for numbers beside them."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

LONGEST = 50
"""Columns of a name on a terminal; a third of a wide one."""
_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e-?\d+)?")
"""With more digits than tell two trials apart."""


class RowName(NamedTuple):
    """What a row is called.

    Attributes:
        whole: its name with all that was typed.
        recipe: the recipe, or the name of its runs; empty where it is known by a path alone.
        typed: overrides that were not typed in every row.
    """

    whole: str
    recipe: str
    typed: Collection[str]


def short_names(rows: Sequence[RowName], longest: int = LONGEST) -> list[str]:
    """A name for each row that is not longer than `longest`; what is short enough, or a path, stays.

    Of a long one the overrides that the fewest rows share come first, by the last word of their keys, paths
    by their last part and numbers by four digits as far as they are told apart so. What has no room is
    counted: `input_feeding=false,dropout=0.3 … +4`. Two rows may get one name.
    """
    shared = Counter(word for row in rows for word in row.typed)
    brief = _brief_values(shared)
    several = len({row.recipe for row in rows}) > 1
    names = []
    for row in rows:
        if not row.recipe or cell_len(row.whole) <= longest:
            names.append(row.whole)
            continue
        typed = sorted(row.typed, key=lambda word: (shared[word], word))
        words = _by_last_words([brief[word] for word in typed])
        names.append(_fitting(([row.recipe] if several or not typed else []) + words, longest))
    return names


def _brief_values(words: Collection[str]) -> dict[str, str]:
    """Each override with a short value, as long as no other becomes the same."""
    brief = {word: _brief(word) for word in words}
    alike = Counter(brief.values())
    return {word: short if alike[short] == 1 else word for word, short in brief.items()}


def _brief(word: str) -> str:
    key, equals, value = word.partition("=")
    if _NUMBER.fullmatch(value):
        return f"{key}{equals}{float(value):.4g}"
    return f"{key}{equals}{value.rstrip('/').rpartition('/')[2]}"


def _by_last_words(typed: Sequence[str]) -> list[str]:
    """Overrides without the groups that their keys lie in, as long as no two become one."""
    shorter = []
    for word in typed:
        key, equals, value = word.partition("=")
        shorter.append(f"{key.rpartition('.')[2]}{equals}{value}")
    keys = Counter(word.partition("=")[0] for word in shorter)
    return [
        short if keys[short.partition("=")[0]] == 1 else word
        for short, word in zip(shorter, typed, strict=True)
    ]


def _fitting(parts: Sequence[str], longest: int) -> str:
    """The first parts, as many as there is room for, and how many there are behind."""
    for number in range(len(parts), 0, -1):
        more = f" … +{len(parts) - number}" if number < len(parts) else ""
        name = f"{','.join(parts[:number])}{more}"
        if cell_len(name) <= longest:
            return name
    more = f"… +{len(parts) - 1}" if len(parts) > 1 else "…"
    return f"{set_cell_size(parts[0], longest - cell_len(more))}{more}"
