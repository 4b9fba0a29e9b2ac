"""Reads parallel text files, one sentence a line, and says exactly what is wrong with them."""

import gzip
import zlib
from pathlib import Path

from zoo.text import is_blank

_SHOWN = 5  # of many mistakes of one kind


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, without their ends; `.gz` files are unpacked.

    Raises:
        ValueError: the file is damaged, not UTF-8 (names the line), or empty.
    """
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    raw = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not raw[-1]:
        raw.pop()  # the last line's own end
    if not raw:
        raise ValueError(f"{path} is empty")
    lines = []
    for number, line in enumerate(raw, start=1):
        try:
            lines.append(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            byte, column = error.object[error.start], error.start + 1
            raise ValueError(
                f"{path}, line {number}: byte {byte:#04x} at column {column} is not UTF-8"
            ) from error
    return lines


def read_pairs(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Both sides of a parallel text.

    Raises:
        ValueError: as `read_lines`; the files differ in length, or a line is blank.
    """
    sides = read_lines(source), read_lines(target)
    (shorter, first), (longer, other) = sorted(
        ((len(s), p) for s, p in zip(sides, (source, target), strict=True))
    )
    if shorter != longer:
        raise ValueError(f"{first} ends first, after {shorter} lines; {other} has {longer}")
    empty = [
        f"{path}, line {number} is empty"
        for path, lines in zip((source, target), sides, strict=True)
        for number, line in enumerate(lines, start=1)
        if is_blank(line)
    ]
    if empty:
        more = f"; and {len(empty) - _SHOWN} more" if len(empty) > _SHOWN else ""
        raise ValueError(f"{'; '.join(empty[:_SHOWN])}{more}: remove them from both sides or fill them")
    return sides
