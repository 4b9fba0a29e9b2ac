"""Tests the best checkpoint of a finished run once more, with other settings, in a folder of its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.config.check import check
from zoo.config.evaluation import typed, with_overrides
from zoo.config.jobs import check_files
from zoo.core.reading import Unreadable, read_json
from zoo.runs.folder import create_run_folder, folder_for_another
from zoo.runs.frozen import FILE, Config, moved, rehoused, thaw, write_config
from zoo.runs.status import State, StatusFile, status_of
from zoo.training.checkpoint import CheckpointError, find_checkpoint, nearest, read_checkpoint

_COSTS = ("seconds", "per_second", "peak_memory_bytes")
"""What results.json says of the training."""


class CannotTest(ValueError):
    """A run that cannot be tested once more; the message says why."""


def require_finished(run: Path) -> None:
    """Refuses what is no run, or not one that has finished a training.

    Raises:
        CannotTest: says what it is, and what to do.
    """
    if not run.exists():
        raise CannotTest(f"{run} does not exist{nearest(run)}")
    if (run / "sweep.json").is_file():
        raise CannotTest(f"{run} is a sweep's folder: name one of the runs in it")
    if not (run / FILE).is_file():
        raise CannotTest(f"{run} is not a run's folder: it has no {FILE}")
    try:
        status = StatusFile(run).read()
    except (OSError, ValueError) as error:
        raise CannotTest(str(error)) from error
    if status.tests is not None:
        raise CannotTest(f"{run} is itself a test of {status.tests}: name that run")
    if status.state is not State.FINISHED:
        raise CannotTest(f"{run} is {status.state}: only a run that has finished can be tested once more")
    try:
        find_checkpoint(run)
    except CheckpointError as error:
        raise CannotTest(str(error)) from error
    costs_of(run)


def queue_test(run: Path, overrides: Sequence[str], config_dir: Path) -> tuple[Path, Config]:
    """Queues a test of a run in a new folder of today; the run's own is only read.

    Returns:
        The new folder's config.yaml, and what stands in it.

    Raises:
        CannotTest: the run has nothing to test.
        ConfigError: an override does not fit, or files of the data are missing.
        OSError: the new folder cannot be made.
    """
    require_finished(run)
    try:
        read_checkpoint(run)  # before there is a folder
    except CheckpointError as error:
        raise CannotTest(str(error)) from error
    config = with_overrides({**thaw(run / FILE), "test": True}, overrides, config_dir)
    check_files(check(config, overrides).data)
    before_runs = Path(config["paths"]["runs_dir"])
    runs, parent = folder_for_another(run, before_runs)
    folder = create_run_folder(parent, config["name"])
    before = status_of(run).overrides
    StatusFile(folder).start(typed(before, overrides), State.QUEUED, tests=str(run.resolve()))
    config = rehoused(moved(config, folder), before_runs, runs)
    write_config(folder / FILE, config)
    return folder / FILE, config


def costs_of(run: Path) -> dict[str, Any]:
    """What a run's training took, and on which machine, as `zoo.runs.results.results` is told.

    Raises:
        CannotTest: its results.json is missing or damaged.
    """
    path = run / "results.json"
    try:
        results = read_json(path)
        return {name: results[name] for name in _COSTS} | {"trained_on": results["machine"]}
    except FileNotFoundError:
        raise CannotTest(f"{path} does not exist: it says what the training took") from None
    except Unreadable as error:
        raise CannotTest(f"{path} is not the results of a run: it {error.reason}") from error
    except (KeyError, TypeError) as error:
        raise CannotTest(f"{path} is not the results of a run: {error}") from error
