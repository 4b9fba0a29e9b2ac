"""A table of a few validation items: input, references and what the model predicts."""

import os
from pathlib import Path
from typing import Any, ClassVar

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.training.callbacks.fixed import fixed_predictions, require_few
from zoo.training.callbacks.media import log_table

_REFERENCES = 5
"""The most references that are shown of an item; the captions of a drawn scene have dozens."""


class Samples(Callback):
    """Shows the same few validation items with the model's predictions, at every k-th validation.

    Each time they are appended to the file samples.txt in the run's folder. Dashboards show them as the table
    `val/samples`.

    Attributes:
        given: what an item's input is called, such as `source`.

    Args:
        folder: the run's folder.
        every_n_validations: k, at least 1.
        shown: one argument, the number of items, from 1 to 8. Its name is that of the task's setting, such as
            `sentences=4`, so that messages name the setting.

    Raises:
        ValueError: a number is out of range.
    """

    given: ClassVar[str]

    def __init__(self, *, folder: str | Path, every_n_validations: int, **shown: int) -> None:
        if every_n_validations < 1:
            raise ValueError(f"every_n_validations must be at least 1, got {every_n_validations}")
        require_few(**shown)
        self._path = Path(folder) / "samples.txt"
        (self._number,) = shown.values()
        self._every = every_n_validations
        self._validations = 0
        self._loaded: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """The number of validations so far and the size of samples.txt in bytes, for a resumed training."""
        size = self._path.stat().st_size if self._path.exists() else 0
        return {"validations": self._validations, "size": size}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps a checkpoint's state until the training starts."""
        self._loaded = state_dict

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restores the state, and cuts from samples.txt what the resumed training will write again."""
        if self._loaded is None:
            return
        self._validations = self._loaded["validations"]
        if trainer.is_global_zero and self._path.exists():
            os.truncate(self._path, min(self._loaded["size"], self._path.stat().st_size))
        self._loaded = None

    def items(self, task: pl.LightningModule, number: int) -> list[dict[str, Any]]:
        """What is shown: `number` items with `input`, `references` and `prediction`, the same every time."""
        return fixed_predictions(task, "val", number)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Counts the validation and, at every k-th one, writes the items and sends them to the dashboards."""
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        self._validations += 1
        if self._validations % self._every:
            return
        text, rows = f"step {trainer.global_step}\n", []
        for item in self.items(pl_module, self._number):
            references = item["references"][:_REFERENCES]
            lines = [(self.given, item["input"]), *(("reference", reference) for reference in references)]
            for label, line in [*lines, ("prediction", item["prediction"])]:
                text += f"  {label:<12}{line}\n".replace("\n", "\\n", line.count("\n"))
            text += "\n"
            rows.append([item["input"], " | ".join(references), item["prediction"]])
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text)
        columns = [self.given, "reference", "prediction"]
        log_table(trainer.loggers, "val/samples", columns, rows, trainer.global_step)
