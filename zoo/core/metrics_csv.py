"""metrics.csv: every logged value of a run, and the source of truth for comparisons."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zoo.core.reading import read_rows

COLUMNS = ("step", "name", "value")


def rewind(path: Path, size: int) -> None:
    """Cuts metrics.csv to an earlier size; the rows behind it move to metrics.discarded.csv.

    Args:
        path: metrics.csv; nothing happens if it is missing.
        size: bytes to keep.
    """
    if not path.exists() or path.stat().st_size <= size:
        return
    header = f"{','.join(COLUMNS)}\n".encode()
    with path.open("rb") as file:
        file.seek(size)
        rest = file.read().removeprefix(header)
    with path.with_name("metrics.discarded.csv").open("ab") as discarded:
        if discarded.tell() == 0:
            discarded.write(header)
        discarded.write(rest if rest.endswith(b"\n") else rest + b"\n")  # a kill may have cut the last row
        discarded.flush()
        os.fsync(discarded.fileno())
    os.truncate(path, size)


class Value(NamedTuple):
    """One row of metrics.csv."""

    step: int
    name: str
    value: float


def read_metrics(path: Path) -> Iterator[Value]:
    """Reads metrics.csv; a last row without its line end, cut off by a kill, is skipped.

    Raises:
        ValueError: a row is not `step,name,value`; the message names its line.
    """
    rows = read_rows(path)
    if next(rows, (0, []))[1] != list(COLUMNS):
        raise ValueError(f"{path} does not begin with {','.join(COLUMNS)}")
    for number, row in rows:
        try:
            step, name, value = row
            if not 0 <= (number_of := int(step)) < 2**63:
                raise ValueError(f"a step of {step[:20]}")
            yield Value(number_of, name, float(value))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
