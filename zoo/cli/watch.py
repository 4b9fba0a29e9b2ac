"""`zoo watch`: how are the runs doing, in the terminal, in W&B's own screen or in TensorBoard."""

import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Project
from zoo.cli.runs import become_python
from zoo.core.checkout import require_checkout
from zoo.core.extras import require

_WIDE = 160
"""Columns where the output is no terminal, and nobody knows how wide it is."""


def watch(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A run, a sweep or a folder of many; default: all runs."),
    ] = None,
    wandb: Annotated[
        bool, typer.Option("--wandb", help="Open W&B's screen: settings, pictures, load of the machine.")
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Show the event files of logger=tensorboard.")
    ] = False,
    seconds: Annotated[float, typer.Option(min=0.1, help="Between two looks.")] = 2.0,
    trackio: Annotated[
        bool, typer.Option("--trackio", help="Show what logger=trackio recorded, in a browser.")
    ] = False,
    project: Project = None,
) -> None:
    """Watch runs while they train: the monitored metric and its curves, from their metrics.csv.

    Shows the runs in or below DIR under their names, until all have ended or Ctrl-C; where none trains, once.
    --wandb opens W&B's dashboard in the terminal (`wandb leet`; h shows its keys, q leaves) on its files of
    all runs, without network or login; where the output is no terminal it prints the newest run's state.
    """
    with clear_errors():
        from zoo.runs import watching  # here, because it brings Lightning, for which no other verb waits

        shown = folder or require_checkout(project) / "runs"
        if wandb + tensorboard + trackio > 1:
            raise ValueError("--wandb, --tensorboard and --trackio are dashboards: give one of them")
        if tensorboard:
            require(["tensorboard"], "tensorboard")
            watching.require_events(shown)
            become_python("-m", "tensorboard.main", "--logdir", str(shown))
        if trackio:
            require(["trackio"], "trackio")
            os.environ["TRACKIO_DIR"] = str(watching.trackio_data(shown))
            become_python("-m", "trackio.cli", "show")
        if wandb:
            interactive = sys.stdout.isatty()
            records = watching.wandb_records(shown, newest=not interactive)
            _require_leet()
            form = ("run",) if interactive else ("inspect", "--summary")
            become_python("-m", "wandb", "leet", *form, str(records))
        from rich.console import Console

        from zoo.cli.live_view import show

        watching.require_folder(shown)
        console = Console()
        show(shown, console if console.is_terminal else Console(width=_WIDE), seconds=seconds)


def _require_leet() -> None:
    from wandb.cli.cli import cli  # here, because it takes a second

    if "leet" not in cli.commands:
        raise ValueError(
            f"W&B {version('wandb')} has no terminal dashboard (wandb leet): pip install --upgrade wandb"
        )
