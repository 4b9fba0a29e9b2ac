"""Who runs a run: a lock on its train.log, which the operating system frees when the process is gone."""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

_LOG = "train.log"  # nobody edits it, and it is never replaced: another file of that name would have no lock
_SECONDS_TO_TRY = 0.5


class Occupied(RuntimeError):
    """Another process runs this run."""


class RunLock:
    """A context in which no other process runs the same folder.

    On a file system that knows no locks it protects nothing.

    Args:
        folder: the run's folder.

    Raises:
        Occupied: on entering, another process is inside.
    """

    def __init__(self, folder: Path) -> None:
        self._path = Path(folder) / _LOG
        self._descriptor: int | None = None

    def __enter__(self) -> "RunLock":
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)  # network file systems lock no reader
        deadline = time.monotonic() + _SECONDS_TO_TRY  # `is_held` holds it for a moment, too
        while _lock(descriptor, fcntl.LOCK_EX) is False:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise Occupied(f"{self._path.parent} is being run by another process")
            time.sleep(0.01)
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_held(folder: Path) -> bool | None:
    """Whether a process runs this folder; None where that cannot be known."""
    try:
        descriptor = os.open(Path(folder) / _LOG, os.O_RDONLY | os.O_NONBLOCK)  # should it be a pipe
    except OSError:
        return None
    try:
        free = _lock(descriptor, fcntl.LOCK_SH)
        return None if free is None else not free
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int) -> bool | None:
    """Takes the lock: True when taken, False when another has it, None where there are no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
