"""Reads files that anyone may have made: regular files alone, none that takes all memory or never ends.

What is wrong with a file is an `Unreadable` of one line; that there is none stays a `FileNotFoundError`.
"""

import codecs
import csv
import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import yaml

MOST_LEVELS = 100
"""Of containers within each other."""
_MOST_PARTS = 2_000_000
"""Values in containers; what is referred to counts as often as it is reached."""
_MOST_OF_YAML = 100_000
"""Values in all; a run's configuration has hundreds."""
_MOST_BYTES = 64 * 2**20
_BEGINNING = 2**16
_LONGEST_LINE = 16 * 2**20
_LONGEST_FIELD = 2**17
"""Characters in a field of a table; no name and no number is longer."""
_DENSEST = 200
"""How many times its size a packed file may be; text is packed to a third, and hardly to a hundredth."""
_NEVER_DENSE = 256 * 2**20
"""Bytes that are unpacked however dense they are."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where PyYAML was built with it

_KINDS = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


class Unreadable(ValueError):
    """A file that cannot be read.

    Args:
        path: the file.
        reason: what is wrong with it, behind its name.
    """

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.reason = reason


def require_regular(path: str | Path) -> None:
    """Refuses what is no file with content of its own: opening a pipe would wait for ever.

    Raises:
        FileNotFoundError: there is nothing.
        Unreadable: it is something else; the message says what.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "special file")
        raise Unreadable(path, f"is a {kind}, where a regular file is needed")


def read_text(path: Path, most: int = _MOST_BYTES) -> str:
    """Reads a text in UTF-8.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is no regular file, too large, or not UTF-8.
    """
    require_regular(path)
    with open(path, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Unreadable(path, f"is larger than the {_mebibytes(most)} that such a file may have")
    with _not_utf8(path):
        return content.decode("utf-8-sig")


def require_utf8_begins(path: Path) -> None:
    """Refuses a text whose beginning is not UTF-8, at once however long it is.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is no regular file, or not UTF-8.
    """
    require_regular(path)
    with open(path, "rb") as file, _not_utf8(path):
        codecs.getincrementaldecoder("utf-8")().decode(file.read(_BEGINNING))


def read_json(path: Path, most: int = _MOST_BYTES, **options: Any) -> Any:
    """Reads JSON.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is none of ours, or nested too deeply.
    """
    text = read_text(path, most)
    try:
        content = json.loads(text, **options)
        for _ in leaves(content, len(text)):
            pass
    except (ValueError, RecursionError) as error:
        raise Unreadable(path, f"is no JSON that can be read: {_reason(error)}") from error
    return content


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for `json.loads(..., object_pairs_hook=unique_keys)`.

    Raises:
        ValueError: a key stands in it twice, of which JSON would keep the last.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return made


def read_yaml(path: Path, most: int = _MOST_BYTES) -> Any:
    """Reads YAML, plain values alone.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is none of ours, nested too deeply, or grows without end by its aliases.
    """
    text = checked_yaml(path, most)
    with _no_yaml(path):
        return yaml.load(text, Loader=_LOADER)


def checked_yaml(path: Path, most: int = _MOST_BYTES) -> str:
    """Reads a text of YAML that any reader of YAML can take apart: see `read_yaml`, which makes values of it.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: see `read_yaml`.
    """
    text = read_text(path, most)
    with _no_yaml(path):
        _require_small_yaml(text)
    return text


def read_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Reads a table in CSV, each row behind the number of its line.

    A last line without its end was cut by a kill and is none.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is no regular file, not UTF-8, or has a field that is too long; names the line.
    """
    require_regular(path)
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(_whole_lines(file, path))
        try:
            with _not_utf8(path):
                for row in rows:
                    yield rows.line_num, row
        except csv.Error as error:
            raise Unreadable(path, f"is damaged in line {rows.line_num}: {error}") from error


def unpacked_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, with their ends, unpacked as they are read where its name ends in `.gz`.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
        Unreadable: it is no regular file, is damaged, has a line that is no text's, or was packed so densely
            that it is none.
    """
    require_regular(path)
    most = max(_NEVER_DENSE, _DENSEST * os.path.getsize(path))
    read = number = 0
    is_packed = path.suffix == ".gz"
    try:
        with gzip.open(path) if is_packed else path.open("rb") as file:
            while line := file.readline(_LONGEST_LINE + 1):
                read += len(line)
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise Unreadable(
                        path,
                        f"has more than {_mebibytes(_LONGEST_LINE)} in line {number}: is it a text, with a"
                        " line feed at the end of each line?",
                    )
                if is_packed and read > most:
                    raise Unreadable(path, f"unpacks to more than {_DENSEST} times its size: it is no text")
                yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable(path, f"is damaged: {error}") from error


def leaves(node: Any, most: int = _MOST_PARTS) -> Iterator[Any]:
    """All that lies in containers and is none, as often as it is reached.

    Raises:
        ValueError: they are nested too deeply, or there is too much; so it ends where one holds itself.
    """
    waiting, parts = [(node, 0)], 0
    while waiting:
        one, level = waiting.pop()
        if isinstance(one, Mapping):
            inside = [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            inside = list(one)
        else:
            yield one
            continue
        parts += len(inside)
        if level >= MOST_LEVELS:
            raise ValueError(f"nested in more than {MOST_LEVELS} levels")
        if parts > most:
            raise ValueError(f"more than {most:,} values")
        waiting += [(part, level + 1) for part in inside]


def _require_small_yaml(text: str) -> None:
    """Counts what a text of YAML would become, before any of it is made.

    Raises:
        ValueError: it is nested too deeply, or its aliases make too much of it.
        yaml.YAMLError: it is no YAML.
    """
    total = 0
    sizes: dict[str, int] = {}
    open_ones: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise ValueError(f"*{event.anchor} stands for something that is not complete there")
            total += sizes[event.anchor]
        elif isinstance(event, yaml.CollectionStartEvent):
            open_ones.append((event.anchor, total))
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_ones.pop()
            if anchor:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            if event.anchor:
                sizes[event.anchor] = 1
        if len(open_ones) > MOST_LEVELS:
            raise ValueError(f"nested in more than {MOST_LEVELS} levels")
        if total > _MOST_OF_YAML:
            raise ValueError(f"more than {_MOST_OF_YAML:,} values, with those that its aliases repeat")


def _whole_lines(file: IO[str], path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(_LONGEST_FIELD):
        number += 1
        if line.endswith("\n"):
            yield line
        elif len(line) == _LONGEST_FIELD:
            raise Unreadable(path, f"is damaged in line {number}: more than {_LONGEST_FIELD:,} characters")


@contextmanager
def _no_yaml(path: Path) -> Iterator[None]:
    try:
        yield
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Unreadable(path, f"is no YAML that can be read: {_reason(error)}") from error


@contextmanager
def _not_utf8(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise Unreadable(path, f"is not UTF-8: {error.reason} at byte {error.start}") from error


def _reason(error: BaseException) -> str:
    """What a reader said, on one line."""
    if isinstance(error, RecursionError):
        return f"nested in more than {MOST_LEVELS} levels"
    return " ".join(str(error).split())


def _mebibytes(size: int) -> str:
    return f"{size // 2**20} MiB"
