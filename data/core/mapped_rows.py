"""Rows of numbers on disk, made once and mapped into memory ever after: pictures, or features of them.

Making takes long, so it may be stopped at any time: the next process goes on behind the last rows that are
safe on the disk. A folder appears whole or not at all, and nothing ever reads an unfinished one.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from data.core.cache import made_once, require_space, write_whole

_ROWS, _SUMMARY, _PROGRESS = "rows.npy", "summary.json", "progress.json"

_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError)
"""What comes of reading files that are missing, cut or of another kind."""

_SECONDS_AT_RISK = 10.0
"""So much work at the most is lost when a process is killed."""


class Chunk(NamedTuple):
    """Some rows, one behind the other.

    Attributes:
        rows: `(n, ...)`.
        broken: what is wrong with rows that could not be made, by position; they hold zeros.
    """

    rows: NDArray[Any]
    broken: dict[int, str]


class RowMaker(NamedTuple):
    """How rows are made.

    Attributes:
        total: number of rows.
        shape: of a row.
        dtype: of its numbers.
        chunks: given the number of a row, yields chunks from there on to the end.
        what: is made, in words, for messages.
    """

    total: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: Callable[[int], Iterator[Chunk]]
    what: str

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        return int(np.prod(self.shape)) * self.dtype.itemsize


class MappedRows:
    """Rows in a finished folder. Each process maps them for itself: sending them to another sends the path.

    Attributes:
        broken: what is wrong with rows that could not be made, by number.
    """

    def __init__(self, folder: Path) -> None:
        """Opens the folder.

        Raises:
            OSError, ValueError: there is none, or it is damaged.
        """
        self._path = folder / _ROWS
        summary = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
        self.broken = {int(row): message for row, message in summary["broken"].items()}
        _ = self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Copies of some rows, in that order."""
        chosen: NDArray[Any] = self._rows[rows]
        return chosen

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_rows"}

    def fits(self, maker: RowMaker) -> bool:
        """Whether these can be what `maker` makes."""
        return self._rows.shape == (maker.total, *maker.shape) and self._rows.dtype == maker.dtype

    @cached_property
    def _rows(self) -> NDArray[Any]:
        rows: NDArray[Any] = np.load(self._path, mmap_mode="r")  # refuses files that are too short
        return rows


def mapped_rows(folder: Path, maker: RowMaker) -> MappedRows:
    """Maps rows into memory, making them first where they do not exist.

    Args:
        folder: whose name holds the hash of all that the rows depend on.
        maker: how they are made.

    Raises:
        RuntimeError: the folder cannot be written, or the disk is too full.
        ValueError: rows cannot be made.
    """
    return made_once(folder, maker.what, lambda: opened_rows(folder, maker), lambda: _make(folder, maker))


def opened_rows(folder: Path, maker: RowMaker) -> MappedRows | None:
    """Rows that lie in a folder already; None where there are none, or others than `maker` makes."""
    try:
        rows = MappedRows(folder)
    except _DAMAGED:
        return None
    return rows if rows.fits(maker) else None


def _make(folder: Path, maker: RowMaker) -> None:
    unfinished = folder.with_name(f".making-{folder.name}")
    done, broken = _safe(unfinished)
    require_space(folder.parent, maker.what, (maker.total - done) * maker.row_bytes)
    unfinished.mkdir(exist_ok=True)
    # Bytes are appended, not written through a map: a full disk then is an error, not the end of the process.
    with (unfinished / _ROWS).open("r+b" if done else "w+b") as file:
        header = {"descr": maker.dtype.str, "fortran_order": False, "shape": (maker.total, *maker.shape)}
        np.lib.format.write_array_header_1_0(file, header)
        file.seek(done * maker.row_bytes, os.SEEK_CUR)
        file.truncate()
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(maker.what, total=maker.total, completed=done)
            saved = time.monotonic()
            for chunk in maker.chunks(done) if done < maker.total else ():
                file.write(np.ascontiguousarray(chunk.rows, dtype=maker.dtype).tobytes())
                broken |= {str(done + position): message for position, message in chunk.broken.items()}
                done += len(chunk.rows)
                bar.update(task, completed=done)
                if time.monotonic() - saved >= _SECONDS_AT_RISK:
                    _sync(file)
                    progress = {"rows": done, "bytes": file.tell(), "broken": broken}
                    write_whole(unfinished / _PROGRESS, json.dumps(progress).encode())
                    saved = time.monotonic()
        _sync(file)
    if done != maker.total:
        raise RuntimeError(f"{maker.what} gave {done} rows instead of {maker.total}")
    write_whole(unfinished / _SUMMARY, json.dumps({"broken": broken}).encode())
    (unfinished / _PROGRESS).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)  # a damaged one
    unfinished.rename(folder)


def _safe(unfinished: Path) -> tuple[int, dict[str, str]]:
    """How many rows of an unfinished folder are safe, and which of them are broken."""
    try:
        progress = json.loads((unfinished / _PROGRESS).read_text(encoding="utf-8"))
        if (unfinished / _ROWS).stat().st_size >= progress["bytes"]:
            return int(progress["rows"]), dict(progress["broken"])
    except _DAMAGED:
        pass
    return 0, {}


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
