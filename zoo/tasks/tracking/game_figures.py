"""Pictures of games, and of where the model looked in all of them."""

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import game_sheet
from zoo.tasks.location_figures import where_looked
from zoo.tasks.tracking.batch import CatchBatch
from zoo.tasks.tracking.task import TrackingTask
from zoo.training.callbacks.figures import Figures
from zoo.training.callbacks.fixed import require_few


class GameFigures(Figures):
    """Draws the paths of glimpses in a few games, and where was looked in all, at every k-th validation.

    The same is drawn at test. The sheets lie in figures/ of the run's folder and are shown in W&B under one
    key.

    Args:
        folder: the run's folder.
        games: how many, at most 8: the first ones.
        every_n_validations: k.

    Raises:
        ValueError: an argument is out of its range.
    """

    batch_type = CatchBatch

    def __init__(self, *, folder: str | Path, games: int = 3, every_n_validations: int = 10) -> None:
        require_few(games=games)
        super().__init__(folder=folder, every_n_validations=every_n_validations)
        self._games = games

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """Paths of glimpses, and a histogram of locations."""
        task = cast(TrackingTask, task)
        items = task.predictions[split]
        if not items:
            return {}
        drawn = items[: self._games]
        batch = self.batch(trainer, split, [item["id"] for item in drawn])
        with task.as_evaluated(batch.index):
            paths = task.paths(batch)
        return {
            "games": game_sheet(dict(zip(batch.names, paths, strict=True)), title=when),
            "locations": where_looked(items, task.spec.image()),
        }
