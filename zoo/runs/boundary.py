"""What a run writes and deletes lies in its folder: no link in there may lead anywhere else."""

import os
from collections.abc import Iterator
from pathlib import Path

from zoo.core.reading import require_regular

_OF_WANDB = (
    "wandb"  # with paths.wandb_dir in the run's folder W&B links its logs from there, and only it writes
)


class LeadsOutside(ValueError):
    """A link in a run's folder that leads out of it; the message names it and where it leads."""


def require_own(folder: Path) -> None:
    """Refuses a run's folder with a link that leads out of it, before anything is written or deleted there.

    Links that stay inside are allowed, and the folder itself may be reached by one. What a link leads to need
    not exist: writing would make it. Nor may a pipe or a device stand where a file is written.

    Raises:
        LeadsOutside: there is such a link.
        Unreadable: there is something else than files, folders and links.
    """
    root = os.path.realpath(folder)
    for path in _all(folder):
        if not path.is_symlink():
            require_regular(path)
            continue
        target = os.path.realpath(path)
        if not Path(target).is_relative_to(root):
            raise LeadsOutside(
                f"{path} is a link to {target}, outside of the run's folder, where nothing is written or"
                " deleted: put what it names in its place, or remove the link"
            )


def _all(folder: Path) -> Iterator[Path]:
    """Every file and every link."""
    for here, folders, files in os.walk(folder):  # which follows no link
        yield from (Path(here, name) for name in sorted(files))
        yield from (path for name in sorted(folders) if (path := Path(here, name)).is_symlink())
        if Path(here) == folder and _OF_WANDB in folders:
            folders.remove(_OF_WANDB)
