"""Pictures of where the model looked."""

from pathlib import Path
from typing import Any, cast

import lightning.pytorch as pl
import numpy as np
from lightning.pytorch import Callback

from zoo.batch import ImageBatch
from zoo.callbacks.fixed import FIXED_MOST
from zoo.callbacks.media import log_image
from zoo.figures import glimpse_sheet, location_histogram, png
from zoo.runs.files import write_bytes
from zoo.tasks.recognition import RecognitionTask


class GlimpseFigures(Callback):
    """Draws the paths of glimpses over a few images, and where was looked in all, at every k-th validation.

    The same is drawn at test. The sheets lie in figures/ of the run's folder and are shown in W&B under one
    key. A model that sees whole images has none.

    Args:
        folder: the run's folder.
        images: how many that were recognised, and how many that were not, at most 8 each: the first ones.
        every_n_validations: k.

    Raises:
        ValueError: an argument is out of its range.
    """

    batch_type = ImageBatch

    def __init__(self, *, folder: str | Path, images: int = 6, every_n_validations: int = 10) -> None:
        if not 1 <= images <= FIXED_MOST:
            raise ValueError(f"images must be from 1 to {FIXED_MOST}, got {images}")
        if every_n_validations < 1:
            raise ValueError(f"every_n_validations must be at least 1, got {every_n_validations}")
        self._folder = Path(folder) / "figures"
        self._images, self._every = images, every_n_validations
        self._validations = 0

    def state_dict(self) -> dict[str, Any]:
        """How many validations there have been."""
        return {"validations": self._validations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Counts on."""
        self._validations = state_dict["validations"]

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws validation images."""
        if trainer.sanity_checking:
            return
        self._validations += 1
        if self._validations % self._every == 0:
            self._draw(trainer, cast(RecognitionTask, pl_module), "val", f"step{trainer.global_step:07d}")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws test images, with the weights that were tested."""
        self._draw(trainer, cast(RecognitionTask, pl_module), "test", "test")

    def _draw(self, trainer: pl.Trainer, task: RecognitionTask, split: str, when: str) -> None:
        items = task.predictions[split]
        if not trainer.is_global_zero or task.policy is None or not items:
            return
        groups = {}
        for heading, is_right in (("right", True), ("wrong", False)):
            chosen = [item["id"] for item in items if (item["prediction"] in item["references"]) is is_right]
            if chosen:
                batch = trainer.datamodule.batch(split, chosen[: self._images])  # type: ignore[attr-defined]
                groups[heading] = task.paths(batch.images, batch.labels)
        image = task.spec.images
        locations = np.asarray([item["locations"] for item in items]).swapaxes(0, 1)
        figures = {
            "glimpses": glimpse_sheet(groups, title=when),
            "locations": location_histogram(locations, image.height, image.width),
        }
        for name, figure in figures.items():
            file = self._folder / f"{name}_{when}.png"
            write_bytes(file, png(figure))
            log_image(trainer.loggers, f"{split}/{name}", file, trainer.global_step)
