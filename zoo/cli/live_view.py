"""Runs in a terminal while they train: a table, the monitored metric first, and its curves."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live as Screen
from rich.table import Table
from rich.text import Text

from zoo.cli.plot import plot
from zoo.core.readable import readable
from zoo.reports.live import Curve, Live, Watching, commonest_monitor

_COLORS = ("bright_blue", "yellow", "green", "magenta", "cyan", "red", "bright_white", "bright_green")
_LEAST_PLOT, _MOST_PLOT = 6, 16
"""Lines of the curves; below the least there are none."""
_LEAST_NAME = 24
"""Columns of the names, if they need as many: for less, columns of the table go."""
_MARK = 2
_FRAME = 6
"""Lines around the table and the curves."""


def show(folder: Path, console: Console, *, seconds: float) -> None:
    """Shows the runs in or below a folder: once where none trains, else until all have ended, or Ctrl-C.

    Args:
        folder: of a run, a sweep, or many of them.
        console: where.
        seconds: between two looks.

    Raises:
        ValueError: there is no run, or no such folder.
    """
    watching = Watching(folder)
    runs = watching.look()
    if console.is_terminal and not all(run.has_ended for run in runs):
        view = _view(runs, folder, console, hint=True)
        try:
            with Screen(view, console=console, screen=True, auto_refresh=False) as screen:
                while not all(run.has_ended for run in runs):
                    time.sleep(seconds)
                    runs = watching.look()
                    screen.update(_view(runs, folder, console, hint=True), refresh=True)
        except KeyboardInterrupt:
            pass
    console.print(_view(runs, folder, console, hint=False))


def _view(runs: Sequence[Live], folder: Path, console: Console, *, hint: bool) -> RenderableType:
    """The newest runs that fit, with the curves of the metric that picks most of their checkpoints."""
    room = console.height - _FRAME if console.is_terminal else len(runs) + _MOST_PLOT
    plotted = min(max(room // 2, _LEAST_PLOT), _MOST_PLOT)
    most = max(room - plotted, 1)
    shown = list(runs[-most:])
    metric = commonest_monitor(shown) or "val/loss"
    drawn = [run for run in shown if metric in run.curves][-len(_COLORS) :]
    colors = dict(zip((run.listed.folder for run in drawn), _COLORS, strict=False))
    parts: list[RenderableType] = [Text(_title(runs, folder, hint=hint), style="bold")]
    parts.append(_table(shown, metric, colors, console.width))
    if hidden := len(runs) - len(shown):
        parts.append(Text(f"{hidden} older runs are not shown; name a folder of fewer", style="dim"))
    if drawn and room >= _LEAST_PLOT:
        curves: dict[str, Curve] = {colors[run.listed.folder]: run.curves[metric] for run in drawn}
        width = min(console.width, 100)
        parts += [Text(""), Text(metric, style="bold"), *plot(curves, width=width, height=plotted)]
    return Group(*parts)


def _title(runs: Sequence[Live], folder: Path, *, hint: bool) -> str:
    states = Counter(run.listed.state.partition(",")[0] for run in runs)
    said = ", ".join(f"{count} {state}" for state, count in states.items())
    leave = "   (Ctrl-C leaves; the runs go on)" if hint else ""
    return f"{said}{leave}   {folder}"  # a long path would be cut


def _table(runs: Sequence[Live], metric: str, colors: dict[Path, str], width: int) -> Table:
    """A line for each run; where the width is small, without the last columns, and names are cut."""
    columns = {
        metric: [_last(run, metric) for run in runs],
        "best": [_best(run, metric) for run in runs],
        "state": [run.listed.state for run in runs],
        "step": [_step(run) for run in runs],
        "train/loss": [_last(run, "train/loss") for run in runs],
        "left": [_left(run) for run in runs],
        "age": [run.listed.age for run in runs],
    }
    names = list(_names(runs))
    wanted = min(max(map(cell_len, names)), _LEAST_NAME)
    while (room := width - _MARK - sum(map(_wide, columns.items()))) < wanted and len(columns) > 1:
        columns.popitem()
    table = Table(box=None, pad_edge=False)
    table.add_column("run", no_wrap=True)
    for head in columns:
        table.add_column(head, justify="left" if head == "state" else "right", no_wrap=True)
    for run, name, *cells in zip(runs, names, *columns.values(), strict=True):
        color = colors.get(run.listed.folder, "")
        shown = Text(name)
        shown.truncate(max(room, 1), overflow="ellipsis")
        table.add_row(Text("● " if color else "  ", style=color) + shown, *map(Text, cells))
    return table


def _wide(column: tuple[str, Sequence[str]]) -> int:
    """Columns of a terminal that it takes, with the blanks beside it."""
    head, cells = column
    return max(map(cell_len, (head, *cells))) + 2


def _left(run: Live) -> str:
    return "" if run.seconds_left is None else str(timedelta(seconds=round(run.seconds_left)))


def _names(runs: Sequence[Live]) -> Iterator[str]:
    """The runs' names; where several share one, with the short id at the end of the folder's."""
    count = Counter(run.name for run in runs)
    for run in runs:
        short = run.listed.folder.name.rpartition("_")[2]
        yield f"{run.name} {short}" if count[run.name] > 1 else run.name


def _best(run: Live, metric: str) -> str:
    """The best validation, with the metric's name where it is another one."""
    name, _, value = run.listed.best.rpartition(" ")
    return value if name in (metric, "") else f"{name} {value}"


def _last(run: Live, metric: str) -> str:
    return readable(run.curves[metric][-1][1]) if metric in run.curves else ""


def _step(run: Live) -> str:
    if run.step is None:
        return ""
    return f"{run.step:,}" if run.steps is None else f"{run.step:,}/{run.steps:,}"
