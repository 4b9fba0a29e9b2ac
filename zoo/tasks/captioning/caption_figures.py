"""Figures of what a captioner looks at, while it learns."""

from pathlib import Path

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import caption_sheet, captioned
from zoo.tasks.captioning.batch import CaptionBatch
from zoo.training.callbacks.figures import Figures
from zoo.training.callbacks.fixed import fixed_predictions


class CaptionFigures(Figures):
    """Draws what is attended to in the same few images for each word, on one sheet, see `Figures`.

    A model without attention has none.

    Args:
        folder: the run's folder.
        images: how many on a sheet, at most 8.
        every_n_validations: k.
    """

    batch_type = CaptionBatch

    def __init__(self, *, folder: str | Path, images: int = 4, every_n_validations: int = 5) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, images=images)
        self._images = images

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """A sheet of captions, as the configured search writes them."""
        chosen = fixed_predictions(task, split, self._images)
        if not chosen:
            return {}
        batch = self.batch(trainer, split, [item["id"] for item in chosen])
        best = [found[0] for found in task.caption(batch.images)]  # type: ignore[operator]
        drawn = [
            captioned(
                image,
                caption,
                heading=item["input"],
                notes=[f"prediction: {caption.text}", f"reference: {item['references'][0]}"],
            )
            for image, caption, item in zip(batch.images, best, chosen, strict=True)
            if caption.weights is not None
        ]
        return {"captions": caption_sheet(drawn, title=when)} if drawn else {}
