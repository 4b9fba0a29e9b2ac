"""Frees what a run no longer needs."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zoo.core.files import partials
from zoo.runs.boundary import require_own
from zoo.runs.resume import LAST
from zoo.runs.status import State, StatusFile
from zoo.training.checkpoint import BEST


class Dispensable(NamedTuple):
    """A file that can go.

    Attributes:
        path: the file.
        size: its bytes.
        reason: why it is not needed.
    """

    path: Path
    size: int
    reason: str


def runs_below(folder: Path) -> list[Path]:
    """The folder itself if it is a run's, else every run's below it.

    Raises:
        ValueError: there is none.
    """
    found = sorted(path.parent for path in folder.rglob("status.json"))
    if not found:
        raise ValueError(f"there is no run in {folder}")
    return found


def dispensable(run: Path) -> Iterator[Dispensable]:
    """What a run can do without: nothing while it runs, or while `zoo resume` may still go on with it.

    Raises:
        ValueError: its status is damaged, or a link leads out of its folder.
    """
    require_own(run)
    state = StatusFile(run).read().state
    if state is State.RUNNING:
        return
    for path in partials(run):
        yield _found(path, "half written by a killed process")
    if state is State.PRUNED and (run / LAST).exists():
        yield _found(run / LAST, "the run was pruned; best.ckpt stays")
    if state is State.FINISHED:
        if (run / LAST).exists() and (run / BEST).is_file():
            yield _found(run / LAST, "the run is finished; best.ckpt stays")
        if (run / "metrics.discarded.csv").exists():
            yield _found(run / "metrics.discarded.csv", "steps that were trained again")


def _found(path: Path, reason: str) -> Dispensable:
    return Dispensable(path, path.lstat().st_size, reason)
