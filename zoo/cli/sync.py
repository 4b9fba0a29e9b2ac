"""`zoo sync`: sends runs that were recorded offline to W&B."""

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Project
from zoo.core.checkout import require_checkout


def sync(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]...", help="Runs, sweeps or folders of many; default: all runs."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Send also what comes, until all runs have ended.")
    ] = False,
    entity: Annotated[str | None, typer.Option(help="The team; default: your own.")] = None,
    project_name: Annotated[
        str | None, typer.Option("--to-project", help="W&B's project; default: that of the runs.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Runs sent at once.")] = 4,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent.")] = False,
    project: Project = None,
) -> None:
    """Send runs that were recorded offline to W&B, afterwards or while they train.

    Runs that were sent before are skipped. From Python: `zoo.runs.syncing.sync(FOLDER, live=True)`.
    """
    with clear_errors():
        from zoo.runs.syncing import sync as send

        code = send(
            *(folders or [require_checkout(project) / "runs"]),
            entity=entity,
            project=project_name,
            parallel=parallel,
            live=live,
            dry_run=dry_run,
        )
    raise typer.Exit(code)
