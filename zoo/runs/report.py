"""What a run says to the terminal and to train.log."""

import json
import logging
import warnings
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich import get_console
from rich.logging import RichHandler
from rich.table import Table

from zoo.runs.status import State, Status, StatusFile

_KNOWN_WARNINGS = (
    r"Checkpoint directory .* exists and is not empty",  # as it should be when a run goes on
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning 2.6 with torch 2.15
)


def log_to(path: Path) -> None:
    """Sends everything that is logged, and Python's warnings, to the terminal and to a file."""
    console = get_console()
    handlers: list[logging.Handler] = [logging.FileHandler(path, encoding="utf-8")]
    handlers[0].setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    if console.is_terminal:
        handlers.append(RichHandler(console=console, show_path=False, show_level=False, markup=False))
    else:
        handlers.append(logging.StreamHandler())
    logging.basicConfig(level=logging.INFO, handlers=handlers, format="%(message)s", force=True)
    logging.captureWarnings(True)
    # Lightning prints by itself, and mostly what this log says in its own words.
    for name in ("lightning", "lightning.pytorch", "lightning.fabric"):
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
        library.setLevel(logging.WARNING)
    for message in _KNOWN_WARNINGS:
        warnings.filterwarnings("ignore", message)


def print_results(results: Mapping[str, Any], folder: Path) -> None:
    """One table: every metric of every split, the time, and where everything lies."""
    splits = [name for name in results if name == "val" or name.startswith("test")]
    splits = [name for name in splits if isinstance(results[name], Mapping)]
    table = Table(title=f"{results['name']}, seed {results['seed']}", title_justify="left")
    table.add_column("metric")
    for split in splits:
        table.add_column(split, justify="right")
    for metric in dict.fromkeys(metric for split in splits for metric in results[split]):
        values = (results[split].get(metric) for split in splits)
        table.add_row(metric, *("" if value is None else f"{value:.4g}" for value in values))
    best = results["checkpoint"]
    speed = ", ".join(f"{value:,.0f} {name}/s" for name, value in results["per_second"].items())
    notes = {
        "checkpoint": f"{best['file']}: {best['metric']} {best['value']:.4g} at step {best['step']}",
        "training": f"{timedelta(seconds=round(results['seconds']))}, {speed}",
        "parameters": f"{results['parameters']:,}",
        "run": str(folder),
    }
    console = get_console()
    console.print(table)
    for name, note in notes.items():
        console.print(f"{name:<12}{note}", soft_wrap=True, highlight=False)


def print_sweep(folder: Path) -> None:
    """One table: how each job of a sweep ended, and what it reached."""
    table = Table(title=str(folder), title_justify="left")
    for column in ("job", "state", "result"):
        table.add_column(column)
    jobs = {path.parent: StatusFile(path.parent).read() for path in sorted(folder.glob("*/status.json"))}
    common = set.intersection(*(set(job.overrides) for job in jobs.values())) if len(jobs) > 1 else set()
    for run, job in jobs.items():
        special = " ".join(override for override in job.overrides if override not in common)
        table.add_row(special, job.state, _outcome(run, job))
    get_console().print(table)


def _outcome(run: Path, job: Status) -> str:
    if job.state is not State.FINISHED:
        return f"{(job.exception or '').partition(chr(10))[0]}\nsee {run.name}/train.log"
    best = json.loads((run / "results.json").read_text(encoding="utf-8"))["checkpoint"]
    return f"{best['metric']} {best['value']:.4g}"
