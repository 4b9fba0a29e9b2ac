"""Figures of games, and of where the agent looks in all of them."""

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import game_sheet
from zoo.tasks.location_figures import where_looked
from zoo.tasks.tracking.batch import CatchBatch
from zoo.tasks.tracking.task import TrackingTask
from zoo.training.callbacks.figures import Figures


class GameFigures(Figures):
    """Draws paths of glimpses in a split's first games, and a histogram of all locations, see `Figures`.

    Args:
        folder: the run's folder.
        games: how many, at most 8.
        every_n_validations: k.
    """

    batch_type = CatchBatch

    def __init__(self, *, folder: str | Path, games: int = 3, every_n_validations: int = 10) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, games=games)
        self._games = games

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """Paths of glimpses, and a histogram of locations."""
        task = cast(TrackingTask, task)
        items = task.predictions[split]
        if not items:
            return {}
        batch = self.batch(trainer, split, [item["id"] for item in items[: self._games]])
        with task.as_evaluated(batch.index):
            paths = task.paths(batch)
        return {
            "games": game_sheet(dict(zip(batch.names, paths, strict=True)), title=when),
            "locations": where_looked(items, task.spec.image()),
        }
