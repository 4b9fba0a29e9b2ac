"""Files that are either whole or not there."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

PARTIAL = ".tmp"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(OSError):
    """There is no space for a file; the message names it and what is free."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file so that a reader, or a crash in between, sees the old content or the new, never a part.

    Args:
        path: the file; its folder is made when missing.

    Yields:
        A file beside it, which takes its name at the end. After an error nothing is left of it.

    Raises:
        DiskFull: there is no space for it.
    """
    with full_disk_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # One fixed name: whatever a killed process left behind is overwritten by the next write.
        partial = path.with_name(f"{path.name}{PARTIAL}")
        try:
            with partial.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)  # the new name itself must reach the disk, too
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def full_disk_named(path: Path) -> Iterator[None]:
    """Says which file had no space left; other errors pass unchanged.

    Raises:
        DiskFull: in place of whatever a full disk made raise.
    """
    try:
        yield
    except Exception as error:
        if not _is_full_disk(error):
            raise
        free = shutil.disk_usage(path.parent).free
        message = f"no space left to write {path}: {free / 2**20:.1f} MiB free; make room, or a quota larger"
        raise DiskFull(errno.ENOSPC, message) from error


def _is_full_disk(error: BaseException | None) -> bool:
    """A library may have raised something else in answer, so the whole chain is looked at."""
    if error is None or isinstance(error, DiskFull):
        return False
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return _is_full_disk(error.__cause__ or error.__context__)


def remove_partials(folder: Path) -> None:
    """Removes what a killed process left half written."""
    for path in folder.rglob(f"*{PARTIAL}"):
        path.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file, whole or not at all."""
    with whole_file(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Writes a text as UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, values: Any) -> None:
    """Writes plain containers as indented JSON, whole or not at all."""
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
