"""Figures of what a model looks at in pairs of texts, while it learns."""

from pathlib import Path

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import alignment_sheet
from zoo.tasks.matching.batch import MatchingBatch
from zoo.tasks.matching.match import DrawnMap
from zoo.tasks.matching.predictor import said
from zoo.tasks.matching.task import MatchingTask
from zoo.training.callbacks.figures import Figures


class PairFigures(Figures):
    """Draws the matrices over the words of a few pairs, of right and of wrong answers apart, see `Figures`.

    A degree is right where it is nearer to the true one than a tenth of the range. A model without attention
    has none.

    Args:
        folder: the run's folder.
        pairs: how many right ones, and how many wrong ones, at most 8.
        every_n_validations: k.
    """

    batch_type = MatchingBatch

    def __init__(self, *, folder: str | Path, pairs: int = 4, every_n_validations: int = 5) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, pairs=pairs)
        self._pairs = pairs

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """A sheet of right and one of wrong answers, of the first such pairs."""
        assert isinstance(task, MatchingTask)
        figures = {}
        for name, wanted in (("right", True), ("wrong", False)):
            alike = (one for one in task.predictions[split] if task.is_right(one) is wanted)
            chosen = [one for one, _ in zip(alike, range(self._pairs), strict=False)]
            found = task.match([tuple(one["input"].split("\t", 1)) for one in chosen])
            panels: list[DrawnMap] = []
            titles = []
            for item, (best, *_) in zip(chosen, found, strict=True):
                panels += best.maps
                titles += [f"{said(best)}, true: {item['references'][0]}, {one.what}" for one in best.maps]
            if panels:
                figures[f"pairs_{name}"] = alignment_sheet(panels, titles, axes=("left text", "right text"))
        return figures
