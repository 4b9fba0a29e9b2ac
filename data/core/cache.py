"""What is kept in the cache folder is made by one process at a time, and only where there is room."""

import fcntl
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.filesize import decimal

_log = logging.getLogger(__name__)

T = TypeVar("T")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time make a folder; the others wait. A killed process lets go of its lock."""
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.info("waiting for another process that prepares %s", folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_once(folder: Path, what: str, read: Callable[[], T | None], make: Callable[[], None]) -> T:
    """What lies in a folder, which is made first where it is missing or damaged, by one process at a time.

    Args:
        folder: its place.
        what: is done to make it, in words.
        read: gives what lies there; None where that is nothing that can be used.
        make: makes the folder, so that it appears whole or not at all.

    Raises:
        RuntimeError: the folder cannot be written, or the disk is too full.
    """
    if (found := read()) is not None:
        return found
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with alone(folder):
            if (found := read()) is None:
                if folder.exists():
                    _log.warning("%s is damaged: %s anew", folder, what)
                make()
                found = read()
    except OSError as error:
        raise RuntimeError(f"cannot write below {folder.parent} (paths.cache_dir): {error}") from error
    if found is None:
        raise RuntimeError(f"{folder} was written but cannot be read back: is the disk failing?")
    return found


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file atomically: a reader, or a crash, sees the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def require_space(place: Path, what: str, needed: int) -> None:
    """Refuses to begin what the disk cannot hold.

    Args:
        place: a folder that exists.
        what: is to be done there, in words.
        needed: bytes.

    Raises:
        RuntimeError: there is too little space; says how much is needed, how much is free, and where.
    """
    free = shutil.disk_usage(place).free
    if free < needed:
        raise RuntimeError(
            f"{what} needs up to {decimal(needed)} below {place} (paths.cache_dir),"
            f" where {decimal(free)} are free"
        )
