"""Figures of sequences, of the answers to them, and of what heads wrote and read."""

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
from matplotlib.figure import Figure

from zoo.figures import bit_sequence_sheet
from zoo.tasks.memory.batch import SequenceBatch
from zoo.tasks.memory.task import MemoryTask
from zoo.training.callbacks.figures import Figures


class SequenceFigures(Figures):
    """Draws the first sequences of a split and the first of each size apart, see `Figures`.

    Args:
        folder: the run's folder.
        sequences: how many of the sizes of training, at most 8.
        every_n_validations: k.
    """

    batch_type = SequenceBatch

    def __init__(self, *, folder: str | Path, sequences: int = 2, every_n_validations: int = 5) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, sequences=sequences)
        self._sequences = sequences

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """One sheet."""
        task = cast(MemoryTask, task)
        items = task.predictions[split]
        within = [item for item in items if not item["apart"]][: self._sequences]
        sizes = {item["size"]: item for item in reversed(items) if item["apart"]}
        chosen = [*within, *sizes.values()]
        if not chosen:
            return {}
        chosen.sort(key=lambda item: item["id"])
        batch = self.batch(trainer, split, [item["id"] for item in chosen])
        titles = [f"{name}, size {size}" for name, size in zip(batch.names, batch.size.tolist(), strict=True)]
        return {"sequences": bit_sequence_sheet(dict(zip(titles, task.answers(batch), strict=True)))}
