"""The logger that writes metrics.csv."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from zoo.core.files import full_disk_named
from zoo.core.metrics_csv import COLUMNS


class MetricsFile(Logger):
    """Appends one row `step,name,value` for each logged value; rows reach the file at every call.

    Args:
        path: the file; an existing one is continued.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def version(self) -> str:
        """Empty: a run's folder holds one file."""
        return ""

    @property
    def save_dir(self) -> str:
        """The run's folder."""
        return str(self.path.parent)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Appends a row for each value of a step."""
        if step is None:
            raise ValueError(f"metrics {sorted(metrics)} were logged without a step")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with full_disk_named(self.path), self.path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if file.tell() == 0:
                writer.writerow(COLUMNS)
            writer.writerows((step, name, float(value)) for name, value in metrics.items())

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing to do: config.yaml holds the configuration."""
