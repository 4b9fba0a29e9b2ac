"""Reads parallel text from files, a pair at a time, and says exactly what is wrong with them.

A file's name ends in `.gz` or it is plain; either way it is read as it is needed, never as a whole.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from data.text.corpus import Pair
from zoo.core.reading import require_regular, unique_keys, unpacked_lines
from zoo.core.text import is_blank

_SHOWN = 5  # of many mistakes of one kind

_OF_TABLES = ("lacks source or target", "remove or fill them")


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends; only a line feed ends a line.

    Raises:
        ValueError: the file cannot be read, is damaged, not UTF-8 (names the line), or empty.
    """
    number = 0
    try:
        for number, raw in enumerate(unpacked_lines(path), start=1):
            content = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            try:
                yield content.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                byte, column = error.object[error.start], error.start + 1
                raise ValueError(
                    f"{path}, line {number}: byte {byte:#04x} at column {column} is not UTF-8"
                ) from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if not number:
        raise ValueError(f"{path} is empty")


def read_pairs(source: Path, target: Path) -> Iterator[Pair]:
    """Two files, one sentence a line: line n of one is the translation of line n of the other.

    Raises:
        ValueError: as `read_lines`; the files differ in length, or (at the end) lines are blank.
    """
    paths = source, target
    sides = read_lines(source), read_lines(target)
    blank = Blank("is empty", "remove them from both sides or fill them")
    for number, pair in enumerate(zip_longest(sides[0], sides[1]), start=1):
        if None in pair:
            shorter = pair.index(None)
            lines = number + sum(1 for _ in sides[1 - shorter])
            raise ValueError(
                f"{paths[shorter]} ends first, after {number - 1} lines; {paths[1 - shorter]} has {lines}"
            )
        blanks = [blank.found(path, number, text) for path, text in zip(paths, pair, strict=True)]
        if not any(blanks):
            yield pair
    blank.refuse()


def read_tsv(path: Path, columns: Sequence[int] = (2,)) -> Iterator[Pair]:
    """One file, on each line source, a tab, target; there is no header and no quoting.

    Args:
        path: the file.
        columns: how many a line may have; those behind the second are passed over.

    Raises:
        ValueError: as `read_lines`; a line has other columns, or (at the end) lines have a blank side.
    """
    blank = Blank(*_OF_TABLES)
    for number, line in enumerate(read_lines(path), start=1):
        if blank.found(path, number, line):
            continue
        cells = line.split("\t")
        if len(cells) not in columns:
            allowed = " or ".join(map(str, columns))
            raise ValueError(
                f"{path}, line {number}: {len(cells)} columns, must be {allowed}: source, a tab, target"
            )
        if not blank.found(path, number, *cells[:2]):
            yield cells[0], cells[1]
    blank.refuse()


def read_jsonl(path: Path, keys: Sequence[Pair] = (("source", "target"),)) -> Iterator[Pair]:
    """One file, on each line a JSON object with both sides.

    Args:
        path: the file.
        keys: what source and target may be called.

    Raises:
        ValueError: as `read_lines`; a line is no JSON object, lacks a key, holds something else than text, or
            (at the end) lines have a blank side.
    """
    blank = Blank(*_OF_TABLES)
    for number, line in enumerate(read_lines(path), start=1):
        if blank.found(path, number, line):
            continue
        pair = _sides(f"{path}, line {number}", line, keys)
        if not blank.found(path, number, *pair):
            yield pair
    blank.refuse()


def read_json_line(line: str) -> Any:
    """The JSON of a line.

    Raises:
        ValueError: it is none, or has a key twice in one object.
    """
    try:
        return json.loads(line, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at")
        raise ValueError(f"no JSON, {reason} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in brackets
        raise ValueError(f"no JSON that can be read, {error}") from error


def is_encodable(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, which JSON can write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def content_hash(paths: Sequence[Path]) -> str:
    """The sha256 of each file's bytes, in that order: what stands in files, wherever they lie."""
    digests = []
    for path in paths:
        require_regular(path)
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return " ".join(digests)


def _sides(where: str, line: str, keys: Sequence[Pair]) -> Pair:
    """Both sides of a JSON object."""
    try:
        row = read_json_line(line)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if not isinstance(row, dict):
        raise ValueError(f"{where}: must be a JSON object, got {line[:40]}")
    names = next((pair for pair in keys if all(name in row for name in pair)), None)
    if names is None:
        wanted = ", or ".join(f"{source!r} and {target!r}" for source, target in keys)
        raise ValueError(
            f"{where}: must have the keys {wanted}; it has {', '.join(map(repr, row)) or 'none'}"
        )
    for name in names:
        if not isinstance(row[name], str):
            raise ValueError(f"{where}: {name!r} must be text, got {json.dumps(row[name])[:40]}")
        if not is_encodable(row[name]):
            raise ValueError(f"{where}: {name!r} is no text: it has half of a surrogate pair")
    return row[names[0]], row[names[1]]


class Blank:
    """Blank sentences: all are looked for before they are refused, the first few are named.

    Args:
        what: is wrong with a line that holds one.
        advice: what to do.
    """

    def __init__(self, what: str, advice: str) -> None:
        self._what, self._advice = what, advice
        self._lines: dict[Path, list[int]] = {}
        self._count = 0

    def found(self, path: Path, number: int, *texts: str) -> bool:
        """Whether one of the texts on that line of the file is blank."""
        if not any(map(is_blank, texts)):
            return False
        self._count += 1
        lines = self._lines.setdefault(path, [])
        if len(lines) < _SHOWN:
            lines.append(number)
        return True

    def refuse(self) -> None:
        """Raises `ValueError` if there were any."""
        named = [f"{path}, line {n} {self._what}" for path in sorted(self._lines) for n in self._lines[path]]
        shown = named[:_SHOWN]
        more = f"; and {self._count - len(shown)} more" if self._count > len(shown) else ""
        if shown:
            raise ValueError(
                f"{'; '.join(shown)}{more}: {self._advice} (white space and control characters do not count)"
            )
