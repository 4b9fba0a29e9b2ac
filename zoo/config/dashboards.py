"""Can the dashboards be used that a configuration asks for? Said before the run, not at its first value."""

import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lightning.pytorch.loggers import Logger

from zoo.config.allowed import is_own, locate
from zoo.config.values import TARGET, shown
from zoo.core.problems import Problem
from zoo.loggers.metrics_file import MetricsFile
from zoo.loggers.tensorboard import TensorBoardLogger
from zoo.loggers.trackio import TrackioLogger
from zoo.loggers.wandb import WandbLogger
from zoo.loggers.wandb_settings import refused_variables
from zoo.runs.frozen import Config

_FOR_NOW = (errno.ENOSPC, errno.EDQUOT)
"""A disk may have room again when W&B wants it; if not, the run goes on without W&B."""

_PLACES: dict[type, tuple[str, str]] = {
    MetricsFile: ("path", "metrics.csv"),
    TensorBoardLogger: ("folder", ""),
    TrackioLogger: ("folder", ""),
    WandbLogger: ("folder", ""),
}
"""By logger, which argument says where it writes, and what that is in the run's folder."""


def loggers_write_where_they_are_read(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Results, comparisons and dashboards look into the run's folder; so does what resumes a run."""
    for name, part in config["logger"].items():
        if _is_a(part, Logger) and not is_own(locate(part[TARGET])) and not part.get("save_dir"):
            message = "must be given: without it this logger writes where the command is typed"
            yield Problem(f"logger.{name}.save_dir", message)
        for kind, (argument, file) in _PLACES.items():
            place = Path(config["paths"]["run_dir"]) / file
            if _is_a(part, kind) and Path(part[argument]) != place:
                meant = f"{file} in paths.run_dir" if file else "paths.run_dir"
                message = f"must be {meant}, got {shown(part[argument])}: leave it out"
                yield Problem(f"logger.{name}.{argument}", message)


def wandb_can_begin(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """W&B takes its variables, and can write where it shall."""
    asked = [part for part in config["logger"].values() if _is_a(part, WandbLogger)]
    if not asked:
        return
    for name, message in refused_variables(os.environ):
        yield Problem(name, message)
    for folder in {part["wandb_dir"] for part in asked if part["wandb_dir"]}:
        if reason := _not_writable(Path(folder)):
            yield Problem("paths.wandb_dir", f"must be a folder that can be written, got {folder}: {reason}")


def _is_a(part: Any, kind: type) -> bool:
    return isinstance(part, dict) and TARGET in part and issubclass(locate(part[TARGET]), kind)


def _not_writable(folder: Path) -> str | None:
    """Why nothing can be made in a folder, or no such folder; None where all is well.

    Only trying tells: permissions do not know of file systems that are read-only, or no real ones.
    """
    there = next(one for one in (folder, *folder.parents) if one.is_dir())
    try:
        with TemporaryDirectory(prefix=".zoo-", dir=there):
            return None
    except OSError as error:
        return None if error.errno in _FOR_NOW else f"{there}: {error.strerror}"
