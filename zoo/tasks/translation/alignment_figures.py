"""Figures of what a translator attends to, while it learns."""

from pathlib import Path

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import alignment_sheet, head_grids
from zoo.tasks.translation.batch import TranslationBatch
from zoo.training.callbacks.figures import Figures
from zoo.training.callbacks.fixed import fixed_predictions


class AlignmentFigures(Figures):
    """Draws the alignments of the same few sentences on one sheet, and all heads of the first, see `Figures`.

    A model without attention has none.

    Args:
        folder: the run's folder.
        sentences: how many on a sheet, at most 8.
        head_grids: how many of them with all heads, where the model has several.
        every_n_validations: k.
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
        super().__init__(folder=folder, every_n_validations=every_n_validations, sentences=sentences)
        if not 0 <= head_grids <= sentences:
            raise ValueError(f"head_grids must be from 0 to sentences={sentences}, got {head_grids}")
        self._sentences, self._head_grids = sentences, head_grids

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """Sheets of alignments, and grids of heads."""
        chosen = fixed_predictions(task, split, self._sentences)
        texts = [item["input"] for item in chosen]
        best = [found[0] for found in task.translate(texts)]  # type: ignore[operator]
        drawn = [translation for translation in best if translation.weights is not None]
        if not drawn:
            return {}
        figures = {"alignments": alignment_sheet(drawn)}
        first = slice(self._head_grids)
        for number, maps in enumerate(task.attention_maps(texts[first], best[first]), start=1):  # type: ignore[operator]
            for kind, figure in head_grids(maps, title=when).items():
                figures[f"heads_{kind}_sentence{number}"] = figure
        return figures
