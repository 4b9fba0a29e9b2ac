"""Figures of which words a classifier weighs, while it learns."""

from pathlib import Path
from typing import Any, cast

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import ShadedText, shaded_sheet
from zoo.tasks.classification.batch import ClassificationBatch
from zoo.tasks.classification.predictor import attends, noted
from zoo.tasks.classification.task import ClassificationTask
from zoo.training.callbacks.figures import Figures
from zoo.training.callbacks.fixed import fixed_predictions


class TextFigures(Figures):
    """Shades the words of texts by weight, see `Figures`.

    One sheet shows the same few texts under every model; the other one right and wrong answers, apart. A
    model without attention has none.

    Args:
        folder: the run's folder.
        texts: at most 8: how many on the first sheet; on the second, how many right and how many wrong ones.
        every_n_validations: k.
    """

    batch_type = ClassificationBatch

    def __init__(self, *, folder: str | Path, texts: int = 4, every_n_validations: int = 5) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, texts=texts)
        self._texts = texts

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """The two sheets."""
        task = cast(ClassificationTask, task)
        alike: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        for item in task.predictions[split]:
            alike[item["prediction"] in item["references"]].append(item)
        groups = {
            "texts": {"": fixed_predictions(task, split, self._texts)},
            "texts_right_and_wrong": {
                "right": alike[True][: self._texts],
                "wrong": alike[False][: self._texts],
            },
        }
        figures = {}
        for name, columns in groups.items():
            drawn = {
                heading: self._shaded(trainer, task, split, items)
                for heading, items in columns.items()
                if items
            }
            if drawn and all(attends(text) for texts in drawn.values() for text in texts):
                figures[name] = shaded_sheet(drawn, title=when)
        return figures

    def _shaded(
        self, trainer: pl.Trainer, task: ClassificationTask, split: str, items: list[dict[str, Any]]
    ) -> list[ShadedText]:
        batch: ClassificationBatch = self.batch(trainer, split, [item["id"] for item in items])
        answers = zip(items, task.classify(batch.raw), strict=True)
        return [noted(best, item["references"][0]) for item, (best, *_) in answers]
