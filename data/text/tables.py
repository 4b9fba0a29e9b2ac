"""Reads named columns of CSV, TSV and JSONL files, a row at a time, and says what is wrong with them."""

import csv
import json
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from data.text.text_files import is_encodable, read_json_line, read_lines
from zoo.core.problems import unknown
from zoo.core.text import is_blank

ENDINGS = (".csv", ".tsv", ".jsonl")
"""Of files that `read_table` reads, plain or packed as `.gz`."""


def ending(path: Path) -> str:
    """The ending that tells the format."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def read_table(path: Path, columns: Sequence[str], named_by: str) -> Iterator[tuple[int, list[Any]]]:
    """The number of each line, and what stands there in some columns.

    A CSV or TSV begins with the names of its columns (a TSV has no quotes), a JSONL has an object on each
    line. What stands in a CSV or TSV is text; in a JSONL it may be anything. In an empty line it is empty.

    Args:
        path: ends in one of `ENDINGS`.
        columns: names of the wanted ones.
        named_by: the settings that name them, in words, for messages.

    Raises:
        ValueError: the file cannot be read, or a column is not there; names the line.
    """
    return (_of_json if ending(path) == ".jsonl" else _of_table)(path, columns, named_by)


def _of_table(path: Path, columns: Sequence[str], named_by: str) -> Iterator[tuple[int, list[Any]]]:
    lines = (f"{line}\n" for line in read_lines(path))
    if ending(path) == ".tsv":
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(lines, strict=True)
    before = 0  # lines that are read
    try:
        names = next(rows)
        places = [_place(f"{path}, line 1", name, names, named_by) for name in columns]
        before = rows.line_num
        while (row := _next_row(rows)) is not None:
            if row and len(row) != len(names):
                raise ValueError(f"{path}, line {rows.line_num}: {len(row)} columns, must be {len(names)}")
            yield rows.line_num, [row[place] if row else "" for place in places]
            before = rows.line_num
    except csv.Error as error:
        where, said = f"line {before + 1}", str(error)
        if "new-line" in said:  # advice for programmers, how to open the file
            said = "it holds a carriage return without a line feed: end each line with a line feed"
        elif rows.line_num > before + 1:  # of a quote that is not closed the first line is the wrong one
            where += f", a row that goes on to line {rows.line_num}"
        if "unexpected end" in said:
            said = "the file ends within quotes: is a quote not closed?"
        raise ValueError(f"{path}, {where}: {said}") from error


def _next_row(rows: Iterator[list[str]]) -> list[str] | None:
    """The next row, whose fields may be whole documents; None behind the last.

    Python has one limit for the fields of all its readers; others count on theirs, so it is put back.
    """
    limit = csv.field_size_limit(2**31 - 1)
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(limit)


def _of_json(path: Path, columns: Sequence[str], named_by: str) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}, line {number}"
        if is_blank(line):
            yield number, [""] * len(columns)
            continue
        try:
            row = read_json_line(line)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"{where}: must be a JSON object, got {line[:40]}")
        for name in columns:
            _place(where, name, list(row), named_by)
        yield number, [row[name] for name in columns]


def as_text(where: str, name: str, value: Any) -> str:
    """A value that must be a text.

    Args:
        where: file and line, for messages.
        name: of the column.
        value: as `read_table` gives it.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, str) and is_encodable(value):
        return value
    raise ValueError(f"{where}: {name!r} must be text, got {json.dumps(value)[:40]}")


def as_label(where: str, name: str, value: Any) -> str:
    """A value that must be a text or a whole number, without blanks around it; arguments as for `as_text`.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, str) and is_encodable(value):
        return value.strip()
    if isinstance(value, int):  # true and false as well
        return json.dumps(value)
    raise ValueError(f"{where}: {name!r} must be text or a whole number, got {json.dumps(value)[:40]}")


def no_class_of_train(name: str, label: str, known: Collection[str]) -> str:
    """What is wrong with a label that no text to train on has.

    Args:
        name: of the column.
        label: what stands there.
        known: the labels of train.
    """
    return f"{name} {label!r} is no class of train{unknown(label, sorted(known))}"


def _place(where: str, name: str, names: list[str], named_by: str) -> int:
    """Where a column stands among those of that name."""
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        raise ValueError(f"{where}: {name!r} stands there twice")
    near = get_close_matches(name, names, n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    has = ", ".join(map(repr, names)) or "nothing"
    raise ValueError(f"{where}: must have {name!r}{meant}; it has {has} ({named_by} name the columns)")
