"""metrics.csv: every logged value of a run, and the source of truth for comparisons."""

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from zoo.reading import read_rows
from zoo.runs.files import full_disk_named

_COLUMNS = ("step", "name", "value")


class MetricsFile(Logger):
    """A Lightning logger that appends one `step,name,value` row per logged value and skips none.

    Rows reach the disk at every call: a killed run loses nothing that was logged.

    Args:
        path: the file; an existing one is continued.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)

    @property
    def name(self) -> str:
        """The file's name, for Lightning."""
        return self.path.name

    @property
    def version(self) -> str:
        """Nothing: a run's folder holds one file."""
        return ""

    @property
    def save_dir(self) -> str:
        """The run's folder."""
        return str(self.path.parent)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Appends one row per value.

        Args:
            metrics: scalars by name; NaN and infinities are written as such.
            step: the trainer's global step.
        """
        if step is None:
            raise ValueError(f"metrics {sorted(metrics)} were logged without a step")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with full_disk_named(self.path), self.path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if file.tell() == 0:
                writer.writerow(_COLUMNS)
            writer.writerows((step, name, float(value)) for name, value in metrics.items())

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing to do: config.yaml holds the configuration."""


def rewind(path: Path, size: int) -> None:
    """Goes back to an earlier state of metrics.csv; what was logged since moves to metrics.discarded.csv.

    Args:
        path: metrics.csv; when it is missing, there is nothing to do.
        size: bytes to keep.
    """
    if not path.exists() or path.stat().st_size <= size:
        return
    header = f"{','.join(_COLUMNS)}\n".encode()
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
    """Reads metrics.csv; a last row without its line end was cut by a kill and is none.

    Raises:
        ValueError: a row is not `step,name,value`; the message names its line.
    """
    rows = read_rows(path)
    if next(rows, (0, []))[1] != list(_COLUMNS):
        raise ValueError(f"{path} does not begin with {','.join(_COLUMNS)}")
    for number, row in rows:
        try:
            step, name, value = row
            yield Value(int(step), name, float(value))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
