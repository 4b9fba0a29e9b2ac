"""What runs there are, and how each one is doing."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from zoo.core.readable import readable
from zoo.core.reading import read_json
from zoo.runs.clean import runs_below
from zoo.runs.status import State, Status, status_of
from zoo.runs.typed import special

_AGES = (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1)))


class Listed(NamedTuple):
    """A run in a list.

    Attributes:
        folder: of the run.
        typed: what was typed for it that can change a result, the recipe included.
        state: how it is doing; of one that trains how far it is.
        best: the best validation so far, with the metric's name; empty before the first one.
        age: the time since it began.
    """

    folder: Path
    typed: str
    state: str
    best: str
    age: str


def list_runs(folders: list[Path], now: datetime | None = None) -> list[Listed]:
    """Every run in or below the folders, each once, from the oldest to the newest.

    Args:
        folders: runs, sweeps or folders of many.
        now: when ages are told; None for this moment.

    Raises:
        ValueError: a folder does not exist, or holds no run.
    """
    now = now or datetime.now(UTC)
    return [listed(folder, status, now) for folder, status in found_runs(folders)]


def found_runs(folders: Sequence[Path]) -> Iterator[tuple[Path, Status]]:
    """Every run in or below the folders, each once, from the oldest to the newest; see `list_runs`."""
    runs: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} does not exist, or is no folder")
        runs |= {run.resolve(): run for run in runs_below(folder)}
    found = [(run, status_of(run)) for run in runs.values()]
    yield from sorted(found, key=lambda one: (_time(one[1].start), str(one[0])))


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def listed(folder: Path, status: Status, now: datetime) -> Listed:
    """What a list says of a run."""
    recipes = [text for text in status.overrides if text.startswith("experiment=")]
    typed = " ".join([*recipes, *special(status.overrides)])
    age = now - _time(status.start)
    return Listed(folder, typed, _state(status), _best(folder, status), _said(age))


def _state(status: Status) -> str:
    progress = status.progress
    if status.state is State.RUNNING and progress and progress.steps:
        return f"{status.state}, {min(progress.step / progress.steps, 1):.0%}"
    return str(status.state)


def _best(folder: Path, status: Status) -> str:
    """By what status.json says; by results.json where that is silent."""
    progress = status.progress
    metric, value = (progress.metric, progress.best) if progress else (None, None)
    if metric is None or value is None:
        try:
            checkpoint = read_json(folder / "results.json")["checkpoint"]
            metric, value = checkpoint["metric"], float(checkpoint["value"])
        except (OSError, ValueError, TypeError, KeyError):  # there is none, or a damaged one
            return ""
    return f"{metric} {readable(value)}"


def _said(age: timedelta) -> str:
    """`3 d`, `2 h`, `5 min`: one unit tells runs apart."""
    for unit, length in _AGES:
        if age >= length:
            return f"{age // length} {unit}"
    return f"{max(age.seconds, 0) if age.days >= 0 else 0} s"
