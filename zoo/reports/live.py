"""What runs measure while they train, from their folders alone."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from zoo.core.metrics_csv import read_metrics
from zoo.core.reading import read_json, read_yaml
from zoo.reports.listing import Listed, found_runs, listed
from zoo.runs.status import FINAL, Status

Curve = list[tuple[int, float]]
"""Steps and values."""


class Live(NamedTuple):
    """A run that is watched.

    Attributes:
        listed: what a list says of it.
        name: what it is called.
        step: training steps done; None before the first.
        steps: of how many; None where the budget is not counted in steps.
        seconds_left: of the training, estimated; None where it is unknown, and of runs that do not train.
        monitor: the metric that picks its checkpoint; empty where that is not known.
        curves: of every validation metric and the training loss, the monitored one first.
        has_ended: whether nothing more will happen.
    """

    listed: Listed
    name: str
    step: int | None
    steps: int | None
    seconds_left: float | None
    monitor: str
    curves: dict[str, Curve]
    has_ended: bool


class Watching:
    """The runs in or below a folder, read again at every look: of a run that did not change, only its status.

    Args:
        folder: of a run, a sweep, or many of them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._said: dict[Path, tuple[str, str]] = {}
        self._curves: dict[Path, tuple[tuple[int, int], dict[str, Curve]]] = {}

    def look(self) -> list[Live]:
        """All runs, from the oldest to the newest.

        Raises:
            ValueError: there is none, or no such folder.
        """
        now = datetime.now(UTC)
        return [
            self._live(run, status, listed(run, status, now)) for run, status in found_runs([self._folder])
        ]

    def _live(self, run: Path, status: Status, shown: Listed) -> Live:
        name, monitor = self._name(run)
        progress = status.progress
        monitor = (progress.metric if progress else None) or monitor
        curves = self._read(run)
        first = [monitor] if monitor in curves else []
        order = dict.fromkeys([*first, *sorted(curves, key=lambda key: (not key.startswith("val/"), key))])
        last = max((points[-1][0] for points in curves.values()), default=None)
        return Live(
            shown,
            name,
            progress.step if progress else last,
            progress.steps if progress else None,
            progress.seconds_left if progress and status.state not in FINAL else None,
            monitor,
            {key: curves[key] for key in order},
            status.state in FINAL,
        )

    def _name(self, run: Path) -> tuple[str, str]:
        """The run's name and what picks its checkpoint; its folder and nothing where no file says it."""
        if run not in self._said:
            try:
                config = read_yaml(run / "config.yaml")
                self._said[run] = str(config["name"]), str(config["task"]["monitor"])
            except (OSError, ValueError, TypeError, KeyError):
                return run.name, _picked_by(run)
        return self._said[run]

    def _read(self, run: Path) -> dict[str, Curve]:
        """Its curves; none of a file that is not there, or damaged."""
        path = run / "metrics.csv"
        try:
            about = path.stat()
            version = about.st_mtime_ns, about.st_size
            if self._curves.get(run, (None,))[0] != version:
                self._curves[run] = version, _curves(path)
        except (OSError, ValueError):
            return {}
        return self._curves[run][1]


def _curves(path: Path) -> dict[str, Curve]:
    found: dict[str, Curve] = {}
    for step, name, value in read_metrics(path):
        if name.startswith(("val/", "train/loss")):
            found.setdefault(name, []).append((step, value))
    return found


def _picked_by(run: Path) -> str:
    try:
        return str(read_json(run / "results.json")["checkpoint"]["metric"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def commonest_monitor(runs: Sequence[Live]) -> str:
    """The metric that picks the checkpoints of most of the runs; empty where none is known."""
    monitors = [run.monitor for run in runs if run.monitor]
    return max(dict.fromkeys(monitors), key=monitors.count, default="")
