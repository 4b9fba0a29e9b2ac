"""Pictures of where the model looked."""

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import glimpse_sheet
from zoo.tasks.location_figures import where_looked
from zoo.tasks.recognition.batch import ImageBatch
from zoo.tasks.recognition.task import RecognitionTask
from zoo.training.callbacks.figures import Figures
from zoo.training.callbacks.fixed import require_few


class GlimpseFigures(Figures):
    """Draws the paths of glimpses over a few images, and where was looked in all, at every k-th validation.

    The same is drawn at test. The sheets lie in figures/ of the run's folder and are shown in W&B under one
    key. A model that sees whole images has none.

    Args:
        folder: the run's folder.
        images: how many of a split's first, which are the same in every run; and how many of the others that
            were recognised, and that were not; at most 8 each.
        every_n_validations: k.

    Raises:
        ValueError: an argument is out of its range.
    """

    batch_type = ImageBatch

    def __init__(self, *, folder: str | Path, images: int = 6, every_n_validations: int = 10) -> None:
        require_few(images=images)
        super().__init__(folder=folder, every_n_validations=every_n_validations)
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
        # Sums of another batch size may turn a close answer, so what is drawn decides.
        groups = {
            "the first images": paths[: len(first)],
            "others, right": [path for path in paths[len(first) :] if path.prediction == path.label],
            "others, wrong": [path for path in paths[len(first) :] if path.prediction != path.label],
        }
        return {
            "glimpses": glimpse_sheet(groups, title=when),
            "locations": where_looked(items, task.spec.image()),
        }
