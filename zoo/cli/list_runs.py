"""`zoo runs`: what runs there are, and how each one is doing."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Project
from zoo.core.checkout import require_checkout

_HEADS = ("run", "typed", "state", "best validation", "age")


def runs(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]...", help="Runs, sweeps or folders of many; default: all runs."),
    ] = None,
    project: Project = None,
) -> None:
    """List runs, the newest last: what was typed, the state, the best validation, the age.

    Where the output is no terminal, each run is a line with tabs between its parts.
    """
    with clear_errors():
        from zoo.reports.listing import list_runs

        found = list_runs(folders or [require_checkout(project) / "runs"])
        lines = [(_shown(run.folder), *run[1:]) for run in found]
        if not sys.stdout.isatty():
            for line in (_HEADS, *lines):
                print(*line, sep="\t")
            return
        from rich import get_console
        from rich.table import Table

        table = Table(*_HEADS[:1], box=None, pad_edge=False)
        for head in _HEADS[1:]:
            table.add_column(head, overflow="fold")
        for name, *parts in lines:
            table.add_row(name, *parts)
        get_console().print(table, markup=False, highlight=False)


def _shown(folder: Path) -> str:
    """Its path, from the current folder where it lies below that: it can be copied into another command."""
    path = folder.resolve()
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
