"""Figures of what a model looks at in pairs of texts, while it learns."""

from itertools import islice
from pathlib import Path

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import alignment_sheet
from zoo.tasks.matching.batch import MatchingBatch
from zoo.tasks.matching.match import DrawnMap
from zoo.tasks.matching.predictor import said
from zoo.tasks.matching.task import MatchingTask
from zoo.training.callbacks.figures import Figures
from zoo.training.callbacks.fixed import fixed_predictions


class PairFigures(Figures):
    """Draws the matrices over the words of a few pairs, see `Figures`.

    One sheet shows the same pairs under every model, two others right and wrong answers, apart. A
    degree is right where it is nearer to the true one than a tenth of the range. A model without attention
    has none.

    Args:
        folder: the run's folder.
        pairs: at most 8: how many on the first sheet, how many right ones, and how many wrong ones.
        every_n_validations: k.
    """

    batch_type = MatchingBatch

    def __init__(self, *, folder: str | Path, pairs: int = 4, every_n_validations: int = 5) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, pairs=pairs)
        self._pairs = pairs

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """The three sheets; right and wrong ones are the first such pairs."""
        assert isinstance(task, MatchingTask)
        sheets = {"pairs": fixed_predictions(task, split, self._pairs)}
        for name, wanted in (("pairs_right", True), ("pairs_wrong", False)):
            alike = (one for one in task.predictions[split] if task.is_right(one) is wanted)
            sheets[name] = list(islice(alike, self._pairs))
        figures = {}
        for name, chosen in sheets.items():
            found = task.match([tuple(one["input"].split("\t", 1)) for one in chosen])
            panels: list[DrawnMap] = []
            titles = []
            for item, (best, *_) in zip(chosen, found, strict=True):
                panels += best.maps
                titles += [f"{said(best)}, true: {item['references'][0]}, {one.what}" for one in best.maps]
            if panels:
                figures[name] = alignment_sheet(panels, titles, axes=("left text", "right text"))
        return figures
