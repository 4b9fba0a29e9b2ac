"""Reads files of word vectors: GloVe's, word2vec's as text, fastText's `.vec`; plain, `.gz` or `.zip`.

A line has a word and its numbers, with one or more blanks between. word2vec and fastText begin with a line
that says how many words and numbers there are.
"""

from __future__ import annotations

import codecs
import zipfile
import zlib
from collections.abc import Collection, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.core.reading import Unreadable, require_regular, unpacked_lines

_LOOKED_AT = 1000
"""Lines that are read to see whether a file is one of vectors: many mistakes are of a whole file."""


class WordVectors(NamedTuple):
    """Vectors of some words.

    Attributes:
        size: numbers of each.
        vectors: `(size,)` float32 by word.
    """

    size: int
    vectors: dict[str, NDArray[np.float32]]


def vector_size(path: Path) -> int:
    """How many numbers a vector of the file has; looks at its beginning.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no file of vectors; names the line.
    """
    _, size, lines = _begin(path)
    for number, raw in islice(lines, _LOOKED_AT):
        _numbers(path, number, _word_and_numbers(path, number, raw, size)[1])
    return size


def read_vectors(path: Path, words: Collection[str]) -> WordVectors:
    """The vectors of some words; of a word that stands there twice the first.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no file of vectors; names the line. Or it has not as many words as it says.
    """
    said, size, lines = _begin(path)
    wanted, found = set(words), dict[str, NDArray[np.float32]]()
    count = 0
    for number, raw in lines:
        count += 1
        word, values = _word_and_numbers(path, number, raw, size)
        if word in wanted and word not in found:
            found[word] = _numbers(path, number, values)
    if said not in (None, count):
        raise Unreadable(path, f"is no whole file: line 1 says {said:,} words, and {count:,} follow")
    return WordVectors(size, found)


def _begin(path: Path) -> tuple[int | None, int, Iterator[tuple[int, bytes]]]:
    """How many words the file says it has, the size of their vectors, and the lines of words, numbered."""
    lines = enumerate(_lines(path), start=1)
    number, first = next(lines, (0, b""))
    for begins, ending in ((b"\x1f\x8b", ".gz"), (b"PK\x03\x04", ".zip")):
        if path.suffix not in (".gz", ".zip") and first.startswith(begins):
            raise Unreadable(path, f"is packed: its name must end in {ending}")
    first = first.removeprefix(codecs.BOM_UTF8)
    parts = first.split()
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return int(parts[0]), _at_least_one(path, int(parts[1])), lines
    return None, _at_least_one(path, len(parts) - 1), chain([(number, first)], lines)


def _at_least_one(path: Path, size: int) -> int:
    if size < 1:
        raise Unreadable(path, "is no file of word vectors: line 1 must have a word and its numbers")
    return size


def _lines(path: Path) -> Iterator[bytes]:
    if path.suffix != ".zip":
        yield from unpacked_lines(path)
        return
    require_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise Unreadable(
                    path, f"must hold one file, has {', '.join(names) or 'none'}: unpack the one"
                )
            with archive.open(names[0]) as file:
                yield from file
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise Unreadable(path, f"is damaged: {error}") from error
    except RuntimeError as error:  # a password, or a way of packing that Python does not know
        raise Unreadable(path, f"cannot be unpacked here: {error}") from error


def _word_and_numbers(path: Path, number: int, raw: bytes, size: int) -> tuple[str, list[bytes]]:
    """What stands in a line; a word may hold blanks, as some of GloVe's do, but none behind a number."""
    word, *values = raw.strip(b" \r\n").rsplit(None, size) or [b""]
    if len(values) != size or (b" " in word and _is_number(word.rpartition(b" ")[2])):
        there = len(raw.split()) - 1
        raise Unreadable(
            path, f"is broken in line {number}: a word and {size} numbers must stand there, got {there}"
        )
    try:
        return word.decode(), values
    except UnicodeDecodeError as error:
        raise Unreadable(
            path, f"is broken in line {number}: the word is not UTF-8 ({error.reason})"
        ) from error


def _numbers(path: Path, number: int, values: list[bytes]) -> NDArray[np.float32]:
    try:
        read = np.array(values, np.float32)
    except ValueError as error:
        raise Unreadable(path, f"is broken in line {number}: {error}") from error
    if not np.isfinite(read).all():
        raise Unreadable(path, f"is broken in line {number}: a number is not finite")
    return read


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True
