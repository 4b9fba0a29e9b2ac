"""`zoo resume`, `zoo rerun`, `zoo test`, `zoo clean`: what can be done with a run's folder."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Project
from zoo.core.checkout import require_checkout

Resumable = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run or of a sweep.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]


def resume(
    run: Resumable,
    devices: Annotated[
        int | None, typer.Option(min=1, help="On how many devices to go on; as many as before by default.")
    ] = None,
    skip: Annotated[
        list[int] | None,
        typer.Option(min=0, metavar="NUMBER", help="A job of a sweep to leave as it is; may be repeated."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="How many trials a study shall have; as many as before by default."),
    ] = None,
    project: Project = None,
) -> None:
    """Go on with a run that was stopped, in its folder and its W&B run; or complete a sweep or a study."""
    with clear_errors():
        script = require_checkout(project) / "train.py"
        if (run / "sweep.json").is_file():
            if devices is not None:
                raise ValueError("--devices is for one run: name one of the runs in the sweep's folder")
            from zoo.sweeps.sweep import resume_sweep

            raise typer.Exit(resume_sweep(script.resolve(), run, skip or (), trials=trials))
        if trials is not None:
            raise ValueError("--trials is for a study: name its folder, which holds sweep.json")
        if skip:
            raise ValueError("--skip is for a sweep, to leave some of its jobs out")
        _require_run(run)
        if devices is not None:
            from zoo.sweeps.devices import change_devices

            change_devices(run, devices)
        become_python(str(script), "--frozen", str(run / "config.yaml"), "--resume")


def rerun(run: Run, project: Project = None) -> None:
    """Repeat a run from its config.yaml alone, in a new folder."""
    with clear_errors():
        script = require_checkout(project) / "train.py"
        _require_run(run)
        from zoo.runs.copying import copy_run

        become_python(str(script), "--frozen", str(copy_run(run)))


def retest(
    run: Run,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...",
            help="Other settings: decoding=NAME, decoding.*, data.*, some of trainer.*",
        ),
    ] = None,
    project: Project = None,
) -> None:
    """Test a finished run's best checkpoint, as it was trained or with other settings, in a new folder."""
    with clear_errors():
        script = require_checkout(project) / "train.py"
        from zoo.sweeps.retesting import require_finished

        require_finished(run)
        become_python(str(script), "--weights", str(run), *(overrides or []))


def clean(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Runs, sweeps, or a folder of many of them.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
) -> None:
    """Free disk space: last.ckpt of finished runs, and what killed ones left half written."""
    with clear_errors():
        from zoo.runs.clean import dispensable, runs_below

        freed = 0
        for folder in folders:
            if not folder.exists():
                raise ValueError(f"{folder} does not exist")
        unreadable = 0
        for run in [run for folder in folders for run in runs_below(folder)]:
            try:
                found = list(dispensable(run))
            except (OSError, ValueError) as error:
                print(f"left alone: {error}", file=sys.stderr)
                unreadable += 1
                continue
            for path, size, reason in found:
                print(f"{size / 2**20:10.1f} MiB  {path}  ({reason})")
                freed += size
                if not dry_run:
                    path.unlink()
        print(f"{freed / 2**20:10.1f} MiB  {'would be freed' if dry_run else 'freed'}")
        if unreadable:
            raise typer.Exit(1)


def _require_run(run: Path) -> None:
    from zoo.training.checkpoint import nearest

    if not run.exists():
        raise ValueError(f"{run} does not exist{nearest(run)}")
    if not (run / "config.yaml").is_file():
        raise ValueError(f"{run} is not a run's folder: it has no config.yaml")


def become_python(*arguments: str) -> NoReturn:
    """Becomes another Python program: signals and keys reach it, and its exit code is this command's."""
    os.execv(sys.executable, [sys.executable, *arguments])
