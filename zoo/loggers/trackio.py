"""Trackio: a dashboard in the browser whose data stay in a file on this machine; no account."""

import os
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from zoo.core.extras import require
from zoo.loggers.harmless import Dashboard, harmless
from zoo.loggers.logged_settings import logged_settings

FOLDER = "trackio"
"""The folder of Trackio's data beside the runs."""


class TrackioLogger(Dashboard, Logger):
    """Logs curves, images, tables and settings for Trackio; its errors do not end the training.

    All runs write into one file of a common folder. A resumed run goes on under its name; steps that are
    trained again after a crash are there twice.

    Args:
        folder: the run's folder, whose name is the run's.
        trackio_dir: the common folder of all runs.
        project: the project in it.
        group: the sweep's name; None for a single run.

    Raises:
        ValueError: Trackio is not installed, or the project has no name.
    """

    shown_by = "Trackio"

    def __init__(
        self, *, folder: str | Path, trackio_dir: str | Path, project: str, group: str | None = None
    ) -> None:
        require(["trackio"], "trackio")
        if not project:
            raise ValueError("project must have a name, got nothing")
        super().__init__()
        self._folder, self._data = Path(folder), Path(trackio_dir)
        self._project, self._group = project, group
        self._settings: Mapping[str, Any] = {}
        self._run: Any = None

    @property
    def name(self) -> str:
        """The project."""
        return self._project

    @property
    def version(self) -> str:
        """The run's name."""
        return self._folder.name

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """Trackio's run, begun at its first use by the first process."""
        if self._run is None:
            self._run = self.started(self._begin)
        return self._run

    def _begin(self) -> Any:
        self._data.mkdir(parents=True, exist_ok=True)
        with redirect_stdout(None):  # it prints how to open the dashboard
            return library(self._data).init(
                project=self._project,
                name=self._folder.name,
                group=self._group,
                config=logged_settings(self._settings),
                resume="allow",
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )

    @rank_zero_only
    def log_hyperparams(self, params: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Keeps the configuration, to be written with the first values."""
        self._settings = params

    @harmless
    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Logs values at a step."""
        if metrics:
            self.experiment.log({name: float(value) for name, value in metrics.items()}, step=step)

    @harmless
    @rank_zero_only
    def log_image(self, key: str, images: Sequence[str], step: int) -> None:
        """Shows PNG files."""
        picture = library(self._data).Image
        names = [key, *(f"{key}_{number}" for number in range(2, len(images) + 1))]
        shown = {name: picture(str(image)) for name, image in zip(names, images, strict=True)}
        self.experiment.log(shown, step=step)

    @harmless
    @rank_zero_only
    def log_table(self, key: str, columns: Sequence[str], data: Sequence[Sequence[str]], step: int) -> None:
        """Shows a table."""
        table = library(self._data).Table(columns=list(columns), data=[list(row) for row in data])
        self.experiment.log({key: table}, step=step)

    @harmless
    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Writes what is left."""
        if self._run is not None and not self.failed:
            with redirect_stdout(None):
                self._run.finish()
            self._run = None


def library(folder: Path) -> Any:
    """The package trackio, imported late, because it reads the environment when it is imported."""
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio

    return trackio
