"""`zoo watch`: how are the runs doing, in the terminal or in TensorBoard."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Project
from zoo.cli.runs import become_python
from zoo.core.checkout import require_checkout
from zoo.core.extras import require_tensorboard
from zoo.runs import watching


def watch(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A run, a sweep or a folder of many; default: all runs."),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Show the event files of logger=tensorboard.")
    ] = False,
    project: Project = None,
) -> None:
    """Watch runs while they train, or afterwards: curves, settings, pictures, load of the machine.

    Opens W&B's dashboard in the terminal (`wandb leet`; h shows its keys, f filters runs, q leaves), which
    needs no network and no login. Where the output is no terminal, prints the state of the newest run.
    """
    with clear_errors():
        shown = folder or require_checkout(project) / "runs"
        if tensorboard:
            require_tensorboard()
            watching.require_events(shown)
            become_python("-m", "tensorboard.main", "--logdir", str(shown))
        interactive = sys.stdout.isatty()
        records = watching.wandb_records(shown, newest=not interactive)
        _require_leet()
        form = ("run",) if interactive else ("inspect", "--summary")
        become_python("-m", "wandb", "leet", *form, str(records))


def _require_leet() -> None:
    from wandb.cli.cli import cli  # here, because it takes a second

    if "leet" not in cli.commands:
        raise ValueError(
            f"W&B {version('wandb')} has no terminal dashboard (wandb leet): pip install --upgrade wandb"
        )
