"""Pictures of what the model attends to, while it learns."""

from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.callbacks.fixed import FIXED_MOST, fixed_predictions
from zoo.callbacks.media import log_image
from zoo.figures import alignment_sheet, png
from zoo.runs.files import write_bytes


class AlignmentFigures(Callback):
    """Draws the attention of the same few sentences on one sheet, at every k-th validation and at test.

    The sheets lie in figures/ of the run's folder and are shown in W&B under one key. A model without
    attention has none.

    Args:
        folder: the run's folder.
        sentences: how many on a sheet, at most 8.
        every_n_validations: k.

    Raises:
        ValueError: an argument is out of its range.
    """

    def __init__(self, *, folder: str | Path, sentences: int = 4, every_n_validations: int = 5) -> None:
        if not 1 <= sentences <= FIXED_MOST:
            raise ValueError(f"sentences must be from 1 to {FIXED_MOST}, got {sentences}")
        if every_n_validations < 1:
            raise ValueError(f"every_n_validations must be at least 1, got {every_n_validations}")
        self._folder = Path(folder) / "figures"
        self._sentences = sentences
        self._every = every_n_validations
        self._validations = 0

    def state_dict(self) -> dict[str, Any]:
        """How many validations there have been."""
        return {"validations": self._validations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Counts on."""
        self._validations = state_dict["validations"]

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws validation sentences."""
        if trainer.sanity_checking:
            return
        self._validations += 1
        if self._validations % self._every == 0:
            self._draw(trainer, pl_module, "val", f"alignments_step{trainer.global_step:07d}.png")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws test sentences, with the weights that were tested."""
        self._draw(trainer, pl_module, "test", "alignments_test.png")

    def _draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, file: str) -> None:
        if not trainer.is_global_zero:
            return
        chosen = fixed_predictions(task, split, self._sentences)
        best = [found[0] for found in task.translate([item["input"] for item in chosen])]  # type: ignore[operator]
        drawn = [translation for translation in best if translation.weights is not None]
        if not drawn:
            return
        write_bytes(self._folder / file, png(alignment_sheet(drawn)))
        log_image(trainer.loggers, f"{split}/alignments", self._folder / file, trainer.global_step)
