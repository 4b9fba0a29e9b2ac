"""`check=true`: which jobs a command line asks for, before any of them starts."""

import sys
from collections.abc import Sequence

from rich import get_console
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from zoo.config.compose import Job
from zoo.config.overrides import key_of

_WIDE = 200
"""Columns of a table that goes to a file."""


def print_plan(jobs: Sequence[Job], parameters: Sequence[int]) -> None:
    """Prints the jobs, with what distinguishes them, and that their configurations are fine.

    Args:
        jobs: all of them, which have been checked.
        parameters: of each job's network.
    """
    if len(jobs) == 1:
        print("the configuration is fine")
        return
    console = get_console()
    if not console.is_terminal:  # no line of it needs to fit anywhere
        console = Console(file=sys.stdout, width=_WIDE)
    console.print(_table(jobs, parameters))
    print(f"all {len(jobs)} configurations are fine")


def _table(jobs: Sequence[Job], parameters: Sequence[int]) -> Table:
    """A column for each setting that not all jobs have alike; empty where a job is not told it."""
    common = set.intersection(*(set(job.overrides) for job in jobs))
    own = [{key_of(text): _value(text) for text in job.overrides if text not in common} for job in jobs]
    keys = list(dict.fromkeys(key for settings in own for key in settings))
    table = Table()
    table.add_column("job", justify="right")
    for key in keys:
        table.add_column(escape(key), overflow="fold")
    table.add_column("parameters, at most", justify="right")
    for number, (settings, count) in enumerate(zip(own, parameters, strict=True)):
        table.add_row(str(number), *(escape(settings.get(key, "")) for key in keys), f"{count:,}")
    return table


def _value(override: str) -> str:
    _, equals, value = override.partition("=")
    return value if equals else "removed"
