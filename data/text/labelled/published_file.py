"""Files of published sets, which lie below `paths.data_dir` and are read as they were published."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.core.paths import packed_or_not
from data.text.text_files import read_json_line
from zoo.core.reading import unpacked_lines
from zoo.core.text import is_blank

_log = logging.getLogger(__name__)


def _meant(code: int) -> str:
    """What stands for a control character: that of windows-1252, read as ISO-8859-1, or else a blank."""
    return (bytes([code]).decode("cp1252", errors="ignore") if code >= 0x80 else "") or " "


_CONTROLS = {code: _meant(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"}


@dataclass(frozen=True)
class PublishedFile:
    """A file of a set.

    Attributes:
        name: of the file, without `.gz`.
        size: of the file, in words.
    """

    name: str
    size: str


def find(folder: Path, files: Sequence[PublishedFile], source: str) -> list[Path]:
    """The files in a folder, packed as `.gz` or not.

    Args:
        folder: where they lie.
        files: all that are needed.
        source: where they come from, in words.

    Raises:
        FileNotFoundError: names those that are missing, with their sizes, and the source.
    """
    found = {file: packed_or_not(folder, file.name) for file in files}
    if missing := [f"{file.name} ({file.size})" for file, path in found.items() if path is None]:
        raise FileNotFoundError(
            f"{folder} lacks {' and '.join(missing)}, plain or packed as .gz; from {source}"
            " (paths.data_dir, or ZOO_DATA_DIR, says where data lies)"
        )
    return [path for path in found.values() if path is not None]


def read_lines_of(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers; only a line feed ends a line.

    Raises:
        ValueError: it cannot be read; names the line that is damaged.
    """
    try:
        for number, raw in enumerate(unpacked_lines(path), start=1):
            try:
                yield number, raw.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}, line {number} is not {encoding}: {error.reason}") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error


def texts_of(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file, one text each; blank ones are left out and counted in the log.

    Raises:
        ValueError: see `read_lines_of`.
    """
    blank = 0
    for _, line in read_lines_of(path, encoding):
        if is_blank(line):
            blank += 1
        else:
            yield line.strip()
    if blank:
        _log.info("%s: %d blank lines are left out", path, blank)


def labelled_lines_of(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    """The label and the text of each line `label text`.

    Raises:
        ValueError: see `read_lines_of`; or a line has no text.
    """
    for number, line in read_lines_of(path, encoding):
        label, _, text = line.strip().partition(" ")
        if is_blank(text):
            raise ValueError(f"{path}, line {number}: must be a label, a blank and a text, got {line!r}")
        yield label, text.strip()


def without_controls(text: str) -> str:
    """A text without control characters: those of windows-1252 are what they should be, others are blanks.

    Line feeds, tabs and carriage returns stay.
    """
    return text.translate(_CONTROLS)


def json_lines_of(
    path: Path, keys: Mapping[str, type], labels: Collection[str | int]
) -> Iterator[dict[str, Any]]:
    """The object on each line of a file.

    Args:
        path: the file.
        keys: what every object has besides its `label`, and of which type.
        labels: all that there are.

    Raises:
        ValueError: see `read_lines_of`; or a line is something else.
    """
    for number, line in read_lines_of(path, "utf-8"):
        where = f"{path}, line {number}"
        try:
            row = read_json_line(line)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        for key, kind in keys.items():
            if not isinstance(row, dict) or not isinstance(row.get(key), kind):
                raise ValueError(
                    f"{where}: must be a JSON object with {key!r} ({kind.__name__}), got {line[:60]}"
                )
        if row.get("label") not in list(labels):
            allowed = ", ".join(map(str, labels))
            raise ValueError(f"{where}: 'label' must be one of {allowed}, got {row.get('label')!r}")
        yield row
