"""Can the dashboards be used that a configuration asks for? Said before the run, not at its first value."""

import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from zoo.config.allowed import locate
from zoo.config.frozen import Config
from zoo.config.problems import Problem
from zoo.runs.wandb import WandbLogger
from zoo.runs.wandb_settings import refused_variables

_FOR_NOW = (errno.ENOSPC, errno.EDQUOT)
"""A disk may have room again when W&B wants it; if not, the run goes on without W&B."""


def wandb_can_begin(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """W&B takes its variables, and can write where it shall."""
    loggers = [part for part in config["logger"].values() if isinstance(part, dict)]
    asked = [part for part in loggers if issubclass(locate(part["_target_"]), WandbLogger)]
    if not asked:
        return
    for name, message in refused_variables(os.environ):
        yield Problem(name, message)
    for folder in {part["wandb_dir"] for part in asked if part["wandb_dir"]}:
        if reason := _not_writable(Path(folder)):
            yield Problem("paths.wandb_dir", f"must be a folder that can be written, got {folder}: {reason}")


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
