"""Pictures of what the model attends to, while it learns."""

from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.batch import TranslationBatch
from zoo.callbacks.fixed import FIXED_MOST, fixed_predictions
from zoo.callbacks.media import log_image
from zoo.figures import alignment_sheet, head_grids, png
from zoo.runs.files import write_bytes


class AlignmentFigures(Callback):
    """Draws the attention of the same few sentences on one sheet, at every k-th validation and at test.

    The sheets lie in figures/ of the run's folder and are shown in W&B under one key. A model without
    attention has none. Of a model with several heads, all heads of the first sentences are drawn as well.

    Args:
        folder: the run's folder.
        sentences: how many on a sheet, at most 8.
        head_grids: how many of them with all heads; 0: none.
        every_n_validations: k.

    Raises:
        ValueError: an argument is out of its range.
    """

    batch_type = TranslationBatch

    def __init__(
        self,
        *,
        folder: str | Path,
        sentences: int = 4,
        head_grids: int = 1,
        every_n_validations: int = 5,
    ) -> None:
        if not 1 <= sentences <= FIXED_MOST:
            raise ValueError(f"sentences must be from 1 to {FIXED_MOST}, got {sentences}")
        if not 0 <= head_grids <= sentences:
            raise ValueError(f"head_grids must be from 0 to sentences={sentences}, got {head_grids}")
        if every_n_validations < 1:
            raise ValueError(f"every_n_validations must be at least 1, got {every_n_validations}")
        self._folder = Path(folder) / "figures"
        self._sentences, self._head_grids = sentences, head_grids
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
            self._draw(trainer, pl_module, "val", f"step{trainer.global_step:07d}")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws test sentences, with the weights that were tested."""
        self._draw(trainer, pl_module, "test", "test")

    def _draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> None:
        if not trainer.is_global_zero:
            return
        chosen = fixed_predictions(task, split, self._sentences)
        texts = [item["input"] for item in chosen]
        best = [found[0] for found in task.translate(texts)]  # type: ignore[operator]
        drawn = [translation for translation in best if translation.weights is not None]
        if not drawn:
            return
        figures = {"alignments": alignment_sheet(drawn)}
        first = slice(self._head_grids)
        for number, maps in enumerate(task.attention_maps(texts[first], best[first]), start=1):  # type: ignore[operator]
            for kind, figure in head_grids(maps, title=when).items():
                figures[f"heads_{kind}_sentence{number}"] = figure
        for name, figure in figures.items():
            file = self._folder / f"{name}_{when}.png"
            write_bytes(file, png(figure))
            log_image(trainer.loggers, f"{split}/{name}", file, trainer.global_step)
