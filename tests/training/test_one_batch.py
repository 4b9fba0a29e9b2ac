"""One batch over and over is learned: by everything that `trainer=overfit` says together."""

from collections.abc import Callable
from pathlib import Path

import lightning.pytorch as pl
import pytest
import torch
from torch.utils.data import Dataset

from data.core.batching import BatchLoader, Part, ShuffledBatches
from zoo.core.metrics_csv import read_metrics
from zoo.training.callbacks import OneBatch


class Items(Dataset[Part]):
    def __getitem__(self, chosen: Part) -> Part:
        return chosen


class Noting(pl.LightningModule):
    """Notes what it was trained on."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.seen: list[tuple[int, list[int]]] = []

    def training_step(self, batch: Part, _: int) -> torch.Tensor:
        self.seen.append((batch.epoch, batch.rows.tolist()))
        return self.weight.square()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def seen(tmp_path: Path, *callbacks: pl.Callback) -> list[tuple[int, list[int]]]:
    task = Noting()
    batches = ShuffledBatches(12, 4, seed=1)
    trainer = pl.Trainer(
        default_root_dir=tmp_path,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        max_epochs=4,
        limit_train_batches=1,
        callbacks=list(callbacks),
    )
    trainer.fit(task, BatchLoader(Items(), batches))
    return task.seen


def test_the_same_items_as_in_the_first_epoch(tmp_path: Path) -> None:
    every = seen(tmp_path, OneBatch())
    assert len(every) == 4
    assert every == [every[0]] * 4
    others = seen(tmp_path)
    assert others[0] == every[0]
    assert [epoch for epoch, _ in others] == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_batch_is_learned(start: Callable[..., int], runs: Path) -> None:
    line = [
        *("data=reverse", "trainer=overfit", "logger=csv", "decoding=greedy", "data.batch_tokens=256"),
        *("data.corpus.train=400", "data.corpus.validation=8", "data.corpus.test=8", "model.dropout=0"),
        *("model.embedding_size=32", "model.hidden_size=64", "task.label_smoothing=0", "optimizer.lr=0.005"),
    ]
    assert start(*line, "~callbacks.alignments") == 0
    (file,) = runs.glob("*/*/metrics.csv")
    losses = [value.value for value in read_metrics(file) if value.name == "train/loss"]
    assert losses[0] > 2
    assert losses[-1] < 0.05
