"""Figures of where a recogniser looks, while it learns."""

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import glimpse_sheet
from zoo.tasks.location_figures import where_looked
from zoo.tasks.recognition.batch import ImageBatch
from zoo.tasks.recognition.task import RecognitionTask
from zoo.training.callbacks.figures import Figures


class GlimpseFigures(Figures):
    """Draws paths of glimpses over a few images, and a histogram of all locations, see `Figures`.

    A model that sees whole images has none.

    Args:
        folder: the run's folder.
        images: at most 8: how many of a split's first; and of the others, how many that were recognised and
            how many that were not.
        every_n_validations: k.
    """

    batch_type = ImageBatch

    def __init__(self, *, folder: str | Path, images: int = 6, every_n_validations: int = 10) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, images=images)
        self._images = images

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """Paths of glimpses, and a histogram of locations."""
        task = cast(RecognitionTask, task)
        items = task.predictions[split]
        if task.policy is None or not items:
            return {}
        first, others = items[: self._images], items[self._images :]
        chosen = [item["id"] for item in first]
        for is_right in (True, False):
            alike = [item["id"] for item in others if (item["prediction"] in item["references"]) is is_right]
            chosen += alike[: self._images]
        batch = self.batch(trainer, split, chosen)
        with task.as_evaluated(batch.index):
            paths = task.paths(batch.images, batch.labels)
        # Sums of another batch size may change a close answer, so what is drawn decides.
        groups = {
            "the first images": paths[: len(first)],
            "others, right": [path for path in paths[len(first) :] if path.prediction == path.label],
            "others, wrong": [path for path in paths[len(first) :] if path.prediction != path.label],
        }
        return {
            "glimpses": glimpse_sheet(groups, title=when),
            "locations": where_looked(items, task.spec.image()),
        }
