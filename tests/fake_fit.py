"""A trainer around the fake task."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from fake_task import BATCHES, Fit, batch
from lightning.pytorch import Callback
from lightning.pytorch.loggers import Logger
from torch.utils.data import DataLoader

from zoo.tasks.translation.batch import TranslationBatch
from zoo.training.checkpoint_io import AtomicIO

Watch = Callable[[ModuleType, str], list[tuple[Any, str]]]
"""From a module and the name of what draws sheets there to all that it will draw, with titles."""


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Writes down what sheets are drawn of; they are drawn all the same."""

    def start(module: ModuleType, name: str) -> list[tuple[Any, str]]:
        seen: list[tuple[Any, str]] = []
        sheet = getattr(module, name)

        def watched(drawn: Any, title: str) -> Any:
            seen.append((drawn, title))
            return sheet(drawn, title=title)

        monkeypatch.setattr(module, name, watched)
        return seen

    return start


@pytest.fixture
def fit(tmp_path: Path) -> Fit:
    """Fits a task on the CPU: 4 batches an epoch, one validation of the same batches behind each."""

    def run(
        task: pl.LightningModule,
        callbacks: Sequence[Callback],
        loggers: Sequence[Logger] = (),
        test: bool = False,
        **options: Any,
    ) -> pl.Trainer:
        defaults = {
            "accelerator": "cpu",
            "max_epochs": 2,
            "log_every_n_steps": 2,
            "num_sanity_val_steps": 0,
            "enable_checkpointing": False,
            "enable_model_summary": False,
            "enable_progress_bar": False,
        }
        trainer = pl.Trainer(
            **{**defaults, **options},
            callbacks=list(callbacks),
            logger=list(loggers),
            plugins=[AtomicIO()],
            default_root_dir=tmp_path,
        )
        items: Any = [batch(number) for number in range(BATCHES)]
        # With a generator of its own a loader leaves the global random numbers alone.
        loader: DataLoader[TranslationBatch] = DataLoader(
            items, batch_size=None, generator=torch.Generator().manual_seed(0)
        )
        trainer.fit(task, loader, loader)
        if test:
            trainer.test(task, loader, verbose=False)
        return trainer

    return run
