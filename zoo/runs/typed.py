"""What was typed for a run: the part that can change a result, and the words of it that name the run."""

from collections import Counter
from collections.abc import Sequence

NOT_SPECIAL = (
    *("experiment=", "seed=", "name=", "paths.", "sweep", "logger", "callbacks.", "hydra.", "+hydra.", "~"),
    *(
        "data.fold=",
        "data.train=",
        "data.val=",
        "data.test=",
        "data.images.path=",
        "check=",
        "test=",
        "plugins=",
        "trainer=cpu",
    ),
)
"""Beginnings of overrides that change no result, or name folders of a machine."""

_LONGEST = 80
"""Characters of a name: beside time and short id there is room for it in the name of a folder."""


def special(overrides: Sequence[str]) -> list[str]:
    """The overrides that can change a result."""
    return [text for text in overrides if not text.startswith(NOT_SPECIAL)]


def named_by(first: str, overrides: Sequence[str]) -> str:
    """The name of a run: `dates_bahdanau decoder=luong attention=dot`.

    Args:
        first: what is run, such as the recipe.
        overrides: what was typed; those that can change a result follow as words, as far as there is room.

    Returns:
        One word for `first`, without blanks, then a word for each override, by the last part of its key where
        no other has the same. A value that is a path is its last part. The last word counts what has no room.
    """
    typed = [text.lstrip("+").partition("=") for text in special(overrides)]
    keys = [key.replace("/", ".") for key, _, _ in typed]
    lasts = Counter(key.rpartition(".")[2] for key in keys)
    words = []
    for key, (_, _, value) in zip(keys, typed, strict=True):
        last = key.rpartition(".")[2]
        value = value.strip("'\"").rstrip("/").rpartition("/")[2].replace(" ", "")
        words.append(f"{last if lasts[last] == 1 else key}={value}")
    words = [word for word in words if word.isprintable()]
    for number in range(len(words), 0, -1):
        more = [f"+{len(words) - number}"] if number < len(words) else []
        name = " ".join([first, *words[:number], *more])
        if len(name) <= _LONGEST:
            return name
    return first
