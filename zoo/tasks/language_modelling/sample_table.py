"""How the model continues a few texts, beside how they go on."""

from pathlib import Path
from typing import Any, cast

import lightning.pytorch as pl

from zoo.tasks.language_modelling.batch import TextBatch
from zoo.tasks.language_modelling.task import LanguageModelling
from zoo.tasks.samples import Samples
from zoo.training.callbacks.fixed import fixed_predictions


class SampleTable(Samples):
    """Continues the beginnings of a few validation windows, see `Samples`.

    Args:
        folder: the run's folder.
        texts: how many, at most 8.
        length: tokens of a continuation, fewer where a context that does not slide ends; half as many, at
            most a window's half, are given.
        every_n_validations: k.

    Raises:
        ValueError: a number is out of range.
    """

    batch_type = TextBatch
    given = "text"

    def __init__(
        self, *, folder: str | Path, texts: int = 2, length: int = 80, every_n_validations: int = 1
    ) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, texts=texts)
        if length < 2:
            raise ValueError(f"length must be at least 2, got {length}")
        self._length = length

    def items(self, task: pl.LightningModule, number: int) -> list[dict[str, Any]]:
        """Beginnings of windows, how they go on, and how the model continues them."""
        task = cast(LanguageModelling, task)
        shown = []
        for item in fixed_predictions(task, "val", number):
            (ids,) = task.codec.encode([item["input"]])
            given = max(1, min(self._length, len(ids)) // 2)
            room = task.room_behind(ids[:given])
            length = self._length if room is None else min(self._length, room)
            found = task.continued(ids[:given], task.decoding, length)[0]
            shown.append(
                {
                    "input": task.codec.decode(ids[:given]),
                    "references": [task.text_behind(ids[:given], ids[given:])],
                    "prediction": task.text_behind(ids[:given], found.ids),
                }
            )
        return shown
