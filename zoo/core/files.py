"""Files that are either whole or not there."""

import errno
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

PARTIAL = ".tmp"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(OSError):
    """There is no space for a file; the message names it and what is free."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file so that a reader, or a crash in between, sees the old content or the new, never a part.

    A link of that name is replaced, and what it leads to is left alone.

    Yields:
        A file beside it, which takes its name at the end. After an error nothing is left of it.

    Raises:
        DiskFull: there is no space for it.
    """
    with full_disk_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # One fixed name, so that the next write takes the place of whatever a killed process left behind.
        partial = path.with_name(f"{path.name}{PARTIAL}")
        partial.unlink(missing_ok=True)  # not overwritten: it may be a link, or a pipe
        try:
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            with suppress(OSError):  # on a disk that cannot be written there is nothing to remove
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


def partials(folder: Path) -> list[Path]:
    """Temporary files that a killed process left; folders of such a name are left alone."""
    return sorted(path for path in folder.rglob(f"*{PARTIAL}") if path.is_symlink() or not path.is_dir())


def remove_partials(folder: Path) -> None:
    """Removes what a killed process left half written."""
    for path in partials(folder):
        path.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file, whole or not at all."""
    with whole_file(path) as file:
        file.write(content)


def require_home(path: Path) -> None:
    """Refuses a path at which nothing can be made. Folders above it may be missing.

    Raises:
        OSError: the nearest one that is there is read-only or no folder.
    """
    home = next(one for one in Path(os.path.realpath(path)).parents if os.path.exists(one))
    if not home.is_dir():
        raise NotADirectoryError(f"{path} cannot be made: {home} is no folder")
    if not os.access(home, os.W_OK):
        raise PermissionError(f"{path} cannot be made: {home} is read-only and cannot be written to")


def require_place(path: Path) -> None:
    """Refuses a path at which no file can be written, before the work that its content takes.

    Raises:
        OSError: it is a folder, or see `require_home`.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not path.exists() or path.is_file():  # a device or a pipe is written where it is
        require_home(path)


def write_where_asked(path: Path, content: bytes) -> None:
    """Writes to a path that the user named: through a link, and into a device or a pipe.

    A regular file is there whole or not at all. What is the standard output comes behind what was printed.

    Raises:
        OSError: it is a folder, or cannot be written.
    """
    require_place(path)
    try:
        found = path.stat()
    except FileNotFoundError:  # a link may lead to where nothing is yet
        found = None
    if found is not None and _is_standard_output(found):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
    elif found is None or stat.S_ISREG(found.st_mode):
        target = Path(os.path.realpath(path))
        try:
            write_bytes(target, content)
        except DiskFull:
            raise
        except OSError as error:  # names the file beside it that is written first, which nobody asked for
            raise type(error)(error.errno, error.strerror, str(target)) from error
    else:
        with full_disk_named(path), path.open("wb") as file:
            file.write(content)


def _is_standard_output(found: os.stat_result) -> bool:
    try:
        return os.path.samestat(found, os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):  # it is closed, or no file at all
        return False


def write_text(path: Path, text: str) -> None:
    """Writes a text as UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, values: Any) -> None:
    """Writes plain containers as indented JSON, whole or not at all."""
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
