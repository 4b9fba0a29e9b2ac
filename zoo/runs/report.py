"""What a run says to the terminal and to train.log."""

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich import get_console
from rich.logging import RichHandler
from rich.table import Table

from zoo.core.readable import readable

KNOWN_WARNINGS = (
    r"It is recommended to use `self\.log\(.*sync_dist=True",  # metrics have been summed over all processes
    r"Found \d+ module\(s\) in eval mode",  # encoders that do not learn stay as they were published
    r"Checkpoint directory .* exists and is not empty",  # as it should be when a run goes on
    r"The number of training batches .* is smaller than the logging interval",  # `Progress` says it
    r"The '.*' does not have many workers",  # they would be slower than slices of memory
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning 2.6 with torch 2.15
)
"""What libraries warn of, and why a run need not."""


class LogFile(logging.FileHandler):
    """A log on a disk that may fill up: what cannot be written is said once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self._failed = False

    def opened(self) -> "LogFile":
        """Makes the file, if it is not there.

        Raises:
            OSError: it cannot be written.
        """
        self.stream = self._open()
        return self

    def close(self) -> None:
        """What is left unwritten has been said already."""
        with suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        """Says it in one line; what else goes wrong, a mistake in our code, is shown with its traceback."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            traceback.print_exc()
        elif not self._failed:
            self._failed = True
            print(
                f"the log cannot be written any more: {self.baseFilename}: {error.strerror}", file=sys.stderr
            )


def log_to(path: Path) -> None:
    """Sends everything that is logged, and Python's warnings, to the terminal and to a file."""
    console = get_console()
    handlers: list[logging.Handler] = [LogFile(path).opened()]
    handlers[0].setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    if console.is_terminal:
        handlers.append(RichHandler(console=console, show_path=False, show_level=False, markup=False))
    elif not _is_standard_error(path):
        handlers.append(logging.StreamHandler())
    logging.basicConfig(level=logging.INFO, handlers=handlers, format="%(message)s", force=True)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # or every handler, also of libraries, prints a traceback for every line
    warnings.formatwarning = _without_path
    quieten_lightning()


def quieten_lightning() -> None:
    """Lightning prints by itself, and mostly what our log says in its own words."""
    for name in ("lightning", "lightning.pytorch", "lightning.fabric"):
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
        library.setLevel(logging.WARNING)
    for message in KNOWN_WARNINGS:
        warnings.filterwarnings("ignore", message)


def _without_path(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A library's warning in one line that names the library; of other code also file and line."""
    text = " ".join(str(message).split())
    parts = Path(filename).parts
    if "site-packages" not in parts[:-1]:
        return f"{filename}:{lineno}: {category.__name__}: {text}"
    return f"{Path(parts[parts.index('site-packages') + 1]).stem}: {category.__name__}: {text}"


def _is_standard_error(path: Path) -> bool:
    """Whether what a process says ends up in this very file, as that of a sweep's job does."""
    try:
        return os.path.samestat(os.fstat(sys.stderr.fileno()), path.stat())
    except (OSError, ValueError, AttributeError):  # it is closed, or no file at all
        return False


def print_results(
    results: Mapping[str, Any],
    folder: Path,
    *,
    telling: Sequence[str] = (),
) -> None:
    """The metrics of every split, the controls below, the time, and where everything lies.

    Args:
        results: what results.json says.
        folder: the run's.
        telling: the metrics that say most, the best first; each control has a line with these alone.
    """
    splits = [name for name in results if name == "val" or name.startswith("test")]
    splits = [name for name in splits if isinstance(results[name], Mapping)]
    table = Table()
    table.add_column("metric")
    for split in splits:
        table.add_column(split, justify="right")
    measured = dict.fromkeys(metric for split in splits for metric in results[split])
    first = [metric for metric in telling if metric in measured]
    for metric in dict.fromkeys([*first, *measured]):
        if not any(metric in control["metrics"].values() for control in results["controls"].values()):
            values = (results[split].get(metric) for split in splits)
            table.add_row(metric, *("" if value is None else readable(value) for value in values))
    best = results["checkpoint"]
    speed = ", ".join(f"{value:,.0f} {name}/s" for name, value in results["per_second"].items())
    notes = {
        **_of_controls(results, telling),
        "checkpoint": f"{best['file']}: {best['metric']} {readable(best['value'])} at step {best['step']}",
        "training": f"{timedelta(seconds=round(results['seconds']))}, {speed}",
        **(
            {"test": str(timedelta(seconds=round(results["seconds_of_test"])))}
            if "seconds_of_test" in results
            else {}
        ),
        "parameters": f"{results['parameters']:,}",
        "run": str(folder),
    }
    console = get_console()
    # As the table's own title it would be broken at the table's width.
    title = f"{results['name']}, seed {results['seed']}"
    console.print(title, style="table.title", soft_wrap=True, highlight=False, markup=False)
    console.print(table)
    for name, note in notes.items():
        console.print(f"{name:<12}{note}", soft_wrap=True, highlight=False)


def _of_controls(results: Mapping[str, Any], telling: Sequence[str]) -> dict[str, str]:
    """What each control scored on the test split, by its name."""
    values = results.get("test") or {}
    found: dict[str, str] = {}
    for control, record in results["controls"].items():
        names = {metric: record["metrics"].get(metric) for metric in telling}
        said = [f"{metric} {readable(values[name])}" for metric, name in names.items() if name in values]
        found |= {control: ", ".join(said)} if said else {}
    return found
