"""`check=true`: which jobs a command line asks for, before any of them starts."""

import sys
from collections.abc import Sequence

from rich import get_console
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from zoo.config.compose import Job
from zoo.config.overrides import key_of
from zoo.config.search import STUDY

_WIDE = 200
"""Columns of a table that goes to a file."""


def print_plan(jobs: Sequence[Job], parameters: Sequence[int], typed: Sequence[str]) -> None:
    """Prints the jobs, with what distinguishes them, or what a study draws them from; and that all is fine.

    Args:
        jobs: all of them, or of a study those that were tried; they have been checked.
        parameters: of each job's network.
        typed: the overrides of the command line.
    """
    if len(jobs) == 1:
        print("the configuration is fine")
        return
    study = jobs[0].composed.hydra.runtime.choices["hydra/sweeper"] == STUDY
    console = get_console()
    if not console.is_terminal:  # no line of it needs to fit anywhere
        console = Console(file=sys.stdout, width=_WIDE)
    console.print(_search(jobs, typed) if study else _table(jobs, parameters))
    print(f"all {len(jobs)} configurations are fine" + " that were tried" * study)


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


def _search(jobs: Sequence[Job], typed: Sequence[str]) -> Table:
    """What a study draws each of its trials from."""
    common = set.intersection(*(set(job.overrides) for job in jobs))
    sweeper = jobs[0].composed.hydra.sweeper
    chosen = jobs[0].composed.hydra.runtime.choices
    how = f"sampler {chosen['hydra/sweeper/sampler']}, pruner {chosen['hydra/sweeper/pruner']}"
    table = Table(title=f"{sweeper.n_trials} trials, {how}", title_justify="left")
    table.add_column("setting")
    table.add_column("is drawn from", overflow="fold")
    for text in (text for text in typed if text not in common):
        table.add_row(escape(key_of(text)), escape(_value(text)))
    return table


def _value(override: str) -> str:
    _, equals, value = override.partition("=")
    return value if equals else "removed"
