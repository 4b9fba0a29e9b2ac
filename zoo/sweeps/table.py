"""How the jobs of a sweep are doing, in one table: live on a terminal, at the end everywhere."""

import re
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType

from rich import get_console
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from zoo.config.overrides import key_of
from zoo.runs.status import FINAL, State, Status, status_of
from zoo.sweeps.job import LOG
from zoo.sweeps.objective import chosen
from zoo.sweeps.record import Sweep

_LOOK, _LINE = 1.0, 30.0
"""Seconds between two looks at the jobs, and between two lines where there is no terminal."""
_COLORS = {
    **{State.RUNNING: "cyan", State.FINISHED: "green", State.PRUNED: "blue"},
    **{State.QUEUED: "dim", State.PREEMPTED: "yellow"},
}
_FRACTION = re.compile(r"=(-?\d+\.\d+(?:e-?\d+)?|-?\d+e-?\d+)$")
_WIDE = 200
"""Columns of a table that goes to a file."""


class SweepTable:
    """A context in which a sweep is shown while it runs.

    Args:
        sweep: with all its jobs, also those that ended before.
        parallel: how many run at once.
        total: how many jobs there will be; None for those that there are.
    """

    def __init__(self, sweep: Sweep, parallel: int, total: int | None = None) -> None:
        self._folder, self._parallel = sweep.folder, parallel
        self._total = len(sweep.jobs) if total is None else total
        self._status: dict[Path, Status] = {}
        self.grew(sweep)
        self._active: set[Path] = set()
        self._looked = self._said = time.monotonic()
        console = get_console()
        self._live = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )

    def __enter__(self) -> "SweepTable":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def grew(self, sweep: Sweep) -> None:
        """Jobs were added."""
        self._jobs, self._names = sweep.jobs, special(sweep)
        new = [job.folder for job in self._jobs if job.folder not in self._status]
        self._status |= {folder: status_of(folder) for folder in new}

    def started(self, folder: Path) -> None:
        """A job began."""
        self._active.add(folder)
        self._say(f"{self._name(folder)}: started")

    def ended(self, folder: Path) -> None:
        """Says at once how a job ended."""
        self._active.discard(folder)
        status = self._status[folder] = status_of(folder)
        reached = _best(status, folder)
        details = [reached] if reached else []
        if status.state is State.PRUNED:
            details.append(_reason(status))
        elif status.state is not State.FINISHED:
            details += [_reason(status), f"see {folder.name}/{LOG}"]
        # of those that are active some may have ended by now: each is counted where it is said
        ends = [one for one, its in self._status.items() if its.state in FINAL and one not in self._active]
        self._say(
            f"{self._name(folder)}: {status.state} ({len(ends)} of {self._total} ended)"
            + "".join(f", {detail}" for detail in details if detail)
        )

    def update(self) -> None:
        """Shows the present state, once in a while."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        if self._live or now - self._said >= _LINE:
            for folder in self._active:
                self._status[folder] = status_of(folder)
            if self._live:
                rows = max(3, self._live.console.height - 6)
                self._live.update(self._table(rows), refresh=True)
            else:
                self._said = now
                for folder in self._active:
                    parts = [self._name(folder), *_progress(self._status[folder], folder)]
                    print("  ".join(part for part in parts if part), flush=True)
                print(self._caption(), flush=True)

    def _say(self, line: str) -> None:
        if self._live:
            self._live.console.print(escape(line), highlight=False, soft_wrap=True)
        else:
            print(line, flush=True)

    def _name(self, folder: Path) -> str:
        number = next(job.number for job in self._jobs if job.folder == folder)
        return f"job {number} {self._names[folder]}".rstrip()

    def _table(self, rows: int) -> Table:
        table = Table(title=str(self._folder), caption=self._caption(), title_justify="left")
        for column in ("job", "", "state", "step", "best", "left"):
            table.add_column(column, justify="right" if column in ("job", "step", "left") else "left")
        # Where not all fit, those that run are shown first, then those that ended badly.
        first = sorted(self._jobs, key=lambda job: _urgency(self._status[job.folder].state))[:rows]
        for job in sorted(first, key=lambda job: job.number):
            status = self._status[job.folder]
            cells = (self._names[job.folder], _colored(status.state), *_progress(status, job.folder))
            table.add_row(str(job.number), escape(cells[0]), *cells[1:])
        return table

    def _caption(self) -> str:
        """How many are in which state, and the time until all have ended."""
        states = [status.state for status in self._status.values()]
        counts = [f"{states.count(state)} {state}" for state in State if state in states]
        left = self._seconds_left() if self._active else None
        return ", ".join(counts) + (f", {_duration(left)} left" if left is not None else "")

    def _seconds_left(self) -> float | None:
        """Of the whole sweep: what the running jobs say, and for those that wait the mean of the others."""
        remaining, whole = [], []
        for folder, status in self._status.items():
            since = datetime.fromisoformat(status.start)
            if status.state in (State.FINISHED, State.PRUNED) and status.end:
                whole.append((datetime.fromisoformat(status.end) - since).total_seconds())
            elif folder in self._active:
                left = status.progress.seconds_left if status.progress else None
                if left is None:
                    return None
                remaining.append(left)
                whole.append((datetime.now(since.tzinfo) - since).total_seconds() + left)
        waiting = sum(status.state is State.QUEUED for status in self._status.values())
        waiting += self._total - len(self._jobs)
        if not remaining or (waiting and not whole):
            return None
        total = sum(remaining) + waiting * sum(whole) / max(1, len(whole))
        return max([total / min(self._parallel, self._total), *remaining])


def print_sweep(sweep: Sweep, damages: Mapping[int, str]) -> None:
    """The complete table: how each job of a sweep ended, what it reached, and where it is.

    Args:
        sweep: with all its jobs.
        damages: what else is known to be wrong, by the numbers of the jobs.
    """
    table = Table(title=str(sweep.folder), title_justify="left")
    for column in ("job", "", "state", "best", "folder", "why"):
        table.add_column(column, overflow="fold")
    names = special(sweep)
    for job in sweep.jobs:
        status = status_of(job.folder)
        why = "" if status.state in (State.FINISHED, State.QUEUED) else _reason(status)
        why = damages.get(job.number, why)
        cells = (
            names[job.folder],
            _colored(status.state),
            _best(status, job.folder),
            escape(job.folder.name),
        )
        table.add_row(str(job.number), escape(cells[0]), *cells[1:], escape(why))
    console = get_console()
    if not console.is_terminal:  # no line of it needs to fit anywhere
        console = Console(file=sys.stdout, width=_WIDE)
    console.print(table)


def special(sweep: Sweep) -> dict[Path, str]:
    """What each job was told that was not typed for all, by its folder; drawn numbers with four digits."""
    swept = {key_of(one) for job in sweep.jobs for one in job.overrides if one not in sweep.overrides}
    swept -= {key_of(one) for one in sweep.overrides if one.startswith("~")}
    return {
        job.folder: " ".join(shortened(one) for one in job.overrides if key_of(one) in swept)
        for job in sweep.jobs
    }


def shortened(override: str) -> str:
    """An override whose value has at most four digits, where it is a number with a fraction."""
    return _FRACTION.sub(lambda number: f"={float(number[1]):.4g}", override)


def _progress(status: Status, folder: Path) -> tuple[str, str, str]:
    """Step, best metric, time left."""
    progress = status.progress
    if progress is None:
        return "", _best(status, folder), ""
    step = f"{progress.step:,}" + (f" of {progress.steps:,}" if progress.steps else "")
    running = status.state is State.RUNNING and progress.seconds_left is not None
    return step, _best(status, folder), _duration(progress.seconds_left or 0.0) if running else ""


def _best(status: Status, folder: Path) -> str:
    if status.state is State.FINISHED:
        best = chosen(folder)
        return "" if best is None else f"{best[0]} {best[1]:.4g}"
    progress = status.progress
    if progress is None or progress.best is None:
        return ""
    return f"{progress.metric} {progress.best:.4g}"


def _reason(status: Status) -> str:
    if status.state is State.KILLED:
        return "the process is gone without a word"
    return (status.exception or "").partition("\n")[0]


def _urgency(state: State) -> int:
    order = (State.RUNNING, State.FAILED, State.DAMAGED, State.DIVERGED, State.KILLED, State.PREEMPTED)
    return order.index(state) if state in order else len(order) + (state is State.FINISHED)


def _colored(state: State) -> str:
    return f"[{_COLORS.get(state, 'red')}]{state}[/]"


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
