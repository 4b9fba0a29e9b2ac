"""What the model says, beside what it should say."""

import os
from pathlib import Path
from typing import Any, ClassVar

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.training.callbacks.fixed import fixed_predictions
from zoo.training.callbacks.media import log_table

_REFERENCES = 5
"""The most of one item that are shown: of a scene, dozens may be true."""


class Samples(Callback):
    """Shows the same few validation items with their predictions at every k-th validation.

    They are appended to samples.txt in the run's folder and shown in W&B as the table `val/samples`.

    Attributes:
        given: what an item is, in a word.

    Args:
        folder: the run's folder.
        number: how many items.
        every_n_validations: k.

    Raises:
        ValueError: `every_n_validations` is less than 1.
    """

    given: ClassVar[str]

    def __init__(self, *, folder: str | Path, number: int, every_n_validations: int) -> None:
        if every_n_validations < 1:
            raise ValueError(f"every_n_validations must be at least 1, got {every_n_validations}")
        self._path = Path(folder) / "samples.txt"
        self._number = number
        self._every = every_n_validations
        self._validations = 0
        self._loaded: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """How many validations there have been, and how much samples.txt held."""
        size = self._path.stat().st_size if self._path.exists() else 0
        return {"validations": self._validations, "size": size}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps it for the fit that is about to start."""
        self._loaded = state_dict

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Counts on, and takes back what a resumed fit will show again."""
        if self._loaded is None:
            return
        self._validations = self._loaded["validations"]
        if trainer.is_global_zero and self._path.exists():
            os.truncate(self._path, min(self._loaded["size"], self._path.stat().st_size))
        self._loaded = None

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Shows them."""
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        self._validations += 1
        if self._validations % self._every:
            return
        chosen = fixed_predictions(pl_module, "val", self._number)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"step {trainer.global_step}\n")
            for item in chosen:
                references = [("reference", text) for text in item["references"][:_REFERENCES]]
                lines = [(self.given, item["input"]), *references, ("prediction", item["prediction"])]
                for label, text in lines:
                    file.write(f"  {label:<12}{text}\n")
                file.write("\n")
        rows = [
            [item["input"], " | ".join(item["references"][:_REFERENCES]), item["prediction"]]
            for item in chosen
        ]
        columns = [self.given, "reference", "prediction"]
        log_table(trainer.loggers, "val/samples", columns, rows, trainer.global_step)
