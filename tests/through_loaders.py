"""What holds for every data module, seen through its loaders."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from data.core.data_module import DataModule


def loaders(data: DataModule) -> list[Any]:
    """Of training, of validation, and of each test split."""
    return [data.train_dataloader(), data.val_dataloader(), *data.test_dataloader()]


def indices(batches: list[Any]) -> list[int]:
    return [i for batch in batches for i in batch.index.tolist()]


def assert_every_item_once(data: DataModule, counts: list[int]) -> None:
    for loader, count in zip(loaders(data), counts, strict=True):
        batches = list(loader)
        assert len(batches) == len(loader)
        assert loader.num_workers == data.num_workers
        assert sorted(indices(batches)) == list(range(count))


def shared(ready: Callable[[], DataModule], replicas: int, counts: list[int]) -> list[list[Any]]:
    """The batches of each split, after it is seen that `replicas` processes share them well."""
    shares = []
    for rank in range(replicas):
        data = ready()
        data.trainer = SimpleNamespace(world_size=replicas, global_rank=rank, accumulate_grad_batches=1)  # type: ignore[assignment]
        shares.append([list(loader) for loader in loaders(data)])
    assert len({len(train) for train, *_ in shares}) == 1, "or one process waits for ever"
    assert all(batches for share in shares for batches in share)
    together = [[batch for batches in split for batch in batches] for split in zip(*shares, strict=True)]
    for batches, count in zip(together, counts, strict=True):
        assert sorted(indices(batches)) == list(range(count))
    return together


class _Recorder(LightningModule):
    """Writes down what it was trained on."""

    def __init__(self, note: Callable[[Any], Any]) -> None:
        super().__init__()
        self.weight = torch.nn.Linear(1, 1)
        self.note, self.seen = note, list[Any]()

    def training_step(self, batch: Any, _: int) -> Tensor:
        self.seen.append(self.note(batch))
        return self.weight(batch.index[:, None].float()).mean()

    def validation_step(self, batch: Any, _: int) -> None:
        pass

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def trained_on(
    data: DataModule,
    note: Callable[[Any], Any],
    folder: Path,
    checkpoint: Path | None = None,
    *,
    epochs: int,
    **saving: Any,
) -> list[Any]:
    """What `note` says of each batch of a fit, which saves {step}.ckpt and may go on from such a file."""
    recorder = _Recorder(note)
    saver = ModelCheckpoint(folder, save_top_k=-1, filename="{step}", auto_insert_metric_name=False, **saving)
    Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        val_check_interval=4,
        logger=False,
        callbacks=[saver],
        enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(recorder, datamodule=data, ckpt_path=checkpoint, weights_only=True)
    return recorder.seen
