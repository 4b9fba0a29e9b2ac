"""Makes the folder of a run, exclusively: no two runs ever share one."""

import re
import secrets
from datetime import datetime
from pathlib import Path

_LONGEST = 100


def day_folder(runs: Path) -> Path:
    """Today's folder below `runs`: the parent of runs that belong to no sweep."""
    return runs / f"{datetime.now():%Y-%m-%d}"


def folder_for_another(run: Path, runs: Path) -> tuple[Path, Path]:
    """Where a new run belongs that is made of another one, which may have been moved or copied.

    Args:
        run: the folder of the other one.
        runs: the folder of all runs, as its configuration has it.

    Returns:
        The folder of all runs, and in it the parent of the new run: today's or, of a run that lies elsewhere
        by now, the folder that holds it, or its sweep.
    """
    here = run.resolve()
    if here.is_relative_to(runs.resolve()):
        return runs, day_folder(runs)
    parent = here.parent
    parent = parent.parent if (parent / "sweep.json").is_file() else parent
    return parent, parent


def create_run_folder(parent: Path, name: str, identity: str | None = None) -> Path:
    """Makes `<parent>/<hh-mm-ss>_<name>_<short id>`.

    Args:
        parent: the day's folder or the sweep's; made when missing.
        name: what is run; characters that are awkward in paths become `-`, and it is cut so that the folder's
            name has at most 100 characters.
        identity: 8 hexadecimal digits, the run's short id; drawn by default.

    Returns:
        The new, empty folder.

    Raises:
        OSError: the folder cannot be made; the message names it.
    """
    safe = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.") or "run"
    while True:
        now, short = f"{datetime.now():%H-%M-%S}", identity or secrets.token_hex(4)
        safe = safe[: _LONGEST - len(now) - len(short) - 2]
        folder = parent / f"{now}_{safe}_{short}"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        except FileExistsError:
            if not parent.is_dir():
                raise NotADirectoryError(f"cannot make a run's folder in {parent}: no folder") from None
            continue  # the same second and the same id: draw another
        except OSError as error:
            message = f"cannot make a run's folder in {parent}: {error.strerror}"
            raise type(error)(error.errno, message) from error
        return folder
