"""What a visitor of the local page may send, checked: texts, pairs, pictures, or the seed of a game."""

import base64
import binascii
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from zoo.core.text import is_blank

LONGEST = 100_000
"""Characters of a text."""


class Form(NamedTuple):
    """What the page asks for.

    Attributes:
        kind: of the input.
        takes_length: whether a game or sequence has a length.
        reads_blanks: whether blanks around a text belong to it.
    """

    kind: Literal["text", "pair", "picture", "game"]
    takes_length: bool = False
    reads_blanks: bool = False


class Question(NamedTuple):
    """What a model is asked.

    Attributes:
        asked: what `Predictor.explore` takes.
        words: the input, in words.
        options: its further arguments.
    """

    asked: Any
    words: str
    options: dict[str, int]


@contextmanager
def question(form: Form, sent: Any) -> Iterator[Question]:
    """What was sent, as a question; a picture is a file for as long as the context lasts.

    Args:
        form: what the page asks for.
        sent: by name: `texts`, or `picture` (base64) and `name`, or `seed` and `length`.

    Raises:
        ValueError: something is missing, wrong or too large.
    """
    if not isinstance(sent, Mapping):
        raise ValueError("an object was expected")
    if form.kind == "game":
        seed = _whole("seed", sent.get("seed", 1))
        options = {}
        if form.takes_length and sent.get("length") is not None:
            options["length"] = _whole("length", sent["length"])
        said = {"seed": seed, **options}
        yield Question(seed, "\n".join(f"{name} {value}" for name, value in said.items()), options)
    elif form.kind == "picture":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "picture"
            path.write_bytes(_bytes(sent.get("picture")))
            yield Question(path, str(sent.get("name", "picture"))[:200], {})
    else:
        texts = _texts(sent.get("texts"), 2 if form.kind == "pair" else 1)
        texts = texts if form.reads_blanks else [text.strip() for text in texts]
        yield Question(tuple(texts) if form.kind == "pair" else texts[0], "\n".join(texts), {})


def _texts(given: object, count: int) -> list[str]:
    if not isinstance(given, list) or len(given) != count or not all(isinstance(one, str) for one in given):
        raise ValueError("two texts were expected" if count == 2 else "one text was expected")
    if any(map(is_blank, given)):
        raise ValueError("the input is empty")
    if max(map(len, given)) > LONGEST:
        raise ValueError(f"a text has at most {LONGEST:,} characters")
    return given


def _bytes(given: object) -> bytes:
    try:
        if not isinstance(given, str):
            raise ValueError("it is missing")
        return base64.b64decode(given, validate=True)
    except (ValueError, binascii.Error) as error:
        raise ValueError("a picture was expected") from error


def _whole(name: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise ValueError(f"{name} must be a whole number")
    return given
