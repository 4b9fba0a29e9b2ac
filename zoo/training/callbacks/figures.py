"""Figures at some validations and at test: what every callback that draws has in common."""

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch import Callback
from matplotlib.figure import Figure

from zoo.core.files import write_bytes, write_text
from zoo.figures import png
from zoo.figures.shown import shown_in
from zoo.training.callbacks.fixed import require_few
from zoo.training.callbacks.media import log_image
from zoo.training.callbacks.self_description import SelfDescription

_TEST = "test"


class Figures(Callback):
    """Draws at every k-th validation and at test, into figures/ of the run's folder and into dashboards.

    At test the weights that a figure shows are kept beside it as JSON, for pages that draw them themselves.

    Args:
        folder: the run's folder.
        every_n_validations: k.
        shown: numbers of items in a figure, from 1 to 8, by the names of their settings.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(self, *, folder: str | Path, every_n_validations: int, **shown: int) -> None:
        if every_n_validations < 1:
            raise ValueError(f"every_n_validations must be at least 1, got {every_n_validations}")
        require_few(**shown)
        self._folder = Path(folder) / "figures"
        self._every = every_n_validations
        self._validations = 0

    @abstractmethod
    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """Figures by name; none where there is nothing to draw.

        Args:
            trainer: the trainer.
            task: has `predictions` of the split.
            split: what is drawn.
            when: the step, for a title.
        """

    @staticmethod
    def batch(trainer: pl.Trainer, split: str, items: Sequence[int]) -> Any:
        """Items of a split by their numbers, in the trainer's precision."""
        batch = trainer.datamodule.batch(split, items)  # type: ignore[attr-defined]
        return trainer.precision_plugin.convert_input(batch)

    def state_dict(self) -> dict[str, Any]:
        """The number of validations so far."""
        return {"validations": self._validations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the number of validations."""
        self._validations = state_dict["validations"]

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws items of the validation split."""
        if trainer.sanity_checking:
            return
        self._validations += 1
        if self._validations % self._every == 0:
            self._keep(trainer, pl_module, "val", f"step{trainer.global_step:07d}")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws items of the test split, with the weights that were tested."""
        self._keep(trainer, pl_module, "test", _TEST)

    def _keep(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> None:
        if not trainer.is_global_zero:
            return
        with trainer.precision_plugin.forward_context():  # in which predictions were made
            figures = self.draw(trainer, task, split, when)
        for name, figure in figures.items():
            file = self._folder / f"{name}_{when}.png"
            write_bytes(file, png(figure, heading=_name(trainer)))
            if when == _TEST and (shown := shown_in(figure)):
                content = json.dumps(
                    [asdict(one) for one in shown], ensure_ascii=False, separators=(",", ":")
                )
                write_text(file.with_suffix(".json"), content)
            log_image(trainer.loggers, f"{split}/{name}", file, trainer.global_step)


def _name(trainer: pl.Trainer) -> str:
    """Of the run, with the words in which it differs from its recipe; empty where nothing describes it."""
    described = (callback for callback in trainer.callbacks if isinstance(callback, SelfDescription))  # type: ignore[attr-defined]
    return next((callback.name for callback in described), "")
