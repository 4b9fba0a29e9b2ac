"""Figures of a language model: its loss by place in the window, and what its heads attend to."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import lightning.pytorch as pl
import torch
from matplotlib.figure import Figure

from zoo.figures import head_grid, learning_curve
from zoo.tasks.language_modelling.batch import TextBatch
from zoo.tasks.language_modelling.task import LanguageModelling
from zoo.training.callbacks.figures import Figures
from zoo.training.callbacks.fixed import fixed_predictions

_SHOWN = 32
"""The most tokens whose attention is drawn."""


class LanguageFigures(Figures):
    """Draws the loss by place in the window, and all heads of a few texts' beginnings, see `Figures`.

    Args:
        folder: the run's folder.
        texts: how many with their heads, at most 8; none of a model without attention.
        every_n_validations: k.
    """

    batch_type = TextBatch

    def __init__(self, *, folder: str | Path, texts: int = 1, every_n_validations: int = 5) -> None:
        super().__init__(folder=folder, every_n_validations=every_n_validations, texts=texts)
        self._texts = texts

    def draw(self, trainer: pl.Trainer, task: pl.LightningModule, split: str, when: str) -> dict[str, Figure]:
        """The curve, and a grid of each kind of attention."""
        task = cast(LanguageModelling, task)
        figures = {}
        if losses := task.by_position.get(split):
            places = [float(place) for place in range(1, len(losses) + 1)]
            figures["loss_by_position"] = learning_curve(
                {split: (places, losses)}, metric="loss", title=when, steps="tokens before, in the window"
            )
        for number, item in enumerate(fixed_predictions(task, split, self._texts), 1):
            (ids,) = task.codec.encode([item["input"]])
            for kind, figure in heads_of(task, ids, title=when).items():
                figures[f"{kind}_text{number}"] = figure
        return figures


def heads_of(task: LanguageModelling, ids: Sequence[int], *, title: str) -> dict[str, Figure]:
    """What each head attends to in the beginning of a text, by the kind of attention; none without.

    Args:
        task: the model.
        ids: the text.
        title: stands above each.
    """
    maps = getattr(task.network, "attention_maps", None)
    if maps is None:
        return {}
    ids = list(ids)[: min(_SHOWN, task.network.context or _SHOWN)]
    labels = [_label(task.codec.decode([one])) for one in ids]
    with torch.no_grad():
        found = maps(torch.tensor([ids], device=task.device))
    return {
        name: head_grid(
            torch.stack([layer[0] for layer in layers]).float().cpu().numpy(),
            labels,
            labels,
            title=f"{title}: {name}",
        )
        for name, layers in found.items()
    }


def _label(token: str) -> str:
    """A token as it can be seen."""
    return token.replace("\n", "\\n").replace("\t", "\\t").replace(" ", "_")
