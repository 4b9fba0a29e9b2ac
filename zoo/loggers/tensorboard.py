"""TensorBoard: event files in the run's folder, which a resumed run continues without repeated steps."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import TensorBoardLogger as LightningTensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only
from PIL import Image

from zoo.core.extras import require
from zoo.core.metrics_csv import read_metrics
from zoo.loggers.harmless import Dashboard, harmless
from zoo.loggers.logged_settings import logged_settings

FOLDER = "tensorboard"
"""The folder of event files in a run's folder."""


class TensorBoardLogger(Dashboard, LightningTensorBoardLogger):
    """Logs curves, images, tables and settings for TensorBoard; its errors do not end the training.

    Args:
        folder: the run's folder.

    Raises:
        ValueError: TensorBoard is not installed.
    """

    shown_by = "TensorBoard"

    def __init__(self, *, folder: str | Path) -> None:
        require(["tensorboard"], "tensorboard")
        super().__init__(save_dir=folder, name="", version=FOLDER)
        self._metrics = Path(folder) / "metrics.csv"
        self._settings: Mapping[str, Any] = {}
        self._begun = False

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The writer of the event file, opened at its first use by the first process."""
        return self.started(lambda: super(TensorBoardLogger, self).experiment)

    @rank_zero_only
    def log_hyperparams(self, params: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Keeps the configuration, to be written with the first values."""
        self._settings = params

    @harmless
    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Logs values at a step."""
        if metrics:
            self._begin(step or 0, metrics)
            super().log_metrics(metrics, step)

    @harmless
    @rank_zero_only
    def log_image(self, key: str, images: Sequence[str], step: int) -> None:
        """Shows PNG files."""
        self._begin(step)
        for image in images:
            with Image.open(image) as picture:
                self.experiment.add_image(key, np.asarray(picture.convert("RGB")), step, dataformats="HWC")
        self.save()

    @harmless
    @rank_zero_only
    def log_table(self, key: str, columns: Sequence[str], data: Sequence[Sequence[str]], step: int) -> None:
        """Shows a table, as Markdown."""
        self._begin(step)
        lines = [columns, ["---"] * len(columns), *data]
        table = "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines)
        self.experiment.add_text(key, table, step)
        self.save()

    @harmless
    @rank_zero_only
    def save(self) -> None:
        """Flushes the event file; writes no hparams.yaml, because config.yaml is the record."""
        self.experiment.flush()

    @harmless
    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Closes the event file."""
        super().finalize(status)

    def _begin(self, step: int, names: Collection[str] = ()) -> None:
        """Writes, before the first values, a mark from which on TensorBoard drops what a stopped run logged.

        TensorBoard drops all of that step. What metrics.csv has of it was logged before the checkpoint, and
        is written again, except for the names that are logged now.
        """
        if self._begun:
            return
        self._begun = True
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # an extra
        from torch.utils.tensorboard.summary import hparams

        writer = self.experiment._get_file_writer()
        writer.add_event(Event(session_log=SessionLog(status=SessionLog.START)), step)
        monitor = (self._settings.get("task") or {}).get("monitor")
        shown = dict.fromkeys([monitor, monitor.replace("val/", "test/", 1)] if monitor else [], 0.0)
        for summary in hparams(logged_settings(self._settings), shown):
            writer.add_summary(summary, step)
        for row in read_metrics(self._metrics) if self._metrics.exists() else ():
            if row.step == step and row.name not in names:
                self.experiment.add_scalar(row.name, row.value, step)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
