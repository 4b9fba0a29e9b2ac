"""Fits of a few milliseconds that can be interrupted at every hook, in this process, and gone on with."""

import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor
from torch.utils.data import Dataset

from data.core.batching import Batches, Layout, ShuffledBatches
from data.core.data_module import DataModule
from zoo.loggers.metrics_file import MetricsFile
from zoo.runtime.preemption import PREEMPTION, Preempted
from zoo.training.callbacks import LastCheckpoint, RandomState, StepAxis
from zoo.training.callbacks.averaging import Averaging, CheckpointAveraging, ExponentialAveraging
from zoo.training.callbacks.final_validation import FinalValidation
from zoo.training.checkpoint_io import AtomicIO

TRAIN, VAL, BATCH = 20, 9, 4
"""Items of each split, and in a batch: five batches train in an epoch, three validate."""


class Killed(BaseException):
    """What SIGKILL does, as far as files can tell: nobody on the way out saves anything."""


class Numbers(Dataset[Tensor]):
    def __init__(self, count: int) -> None:
        self.items = torch.linspace(-1, 1, count)

    def __getitem__(self, part: Any) -> Tensor:
        return self.items[torch.from_numpy(part.rows)]


class Data(DataModule):
    def __init__(self) -> None:
        super().__init__(seed=1, num_workers=0, worker_timeout=0)
        self._splits = {"train": Numbers(TRAIN), "val": Numbers(VAL)}

    def _batches(self, split: str, seed: int | None, layout: Layout) -> Batches:
        return ShuffledBatches({"train": TRAIN, "val": VAL}[split], BATCH, seed=seed, layout=layout)


class Task(pl.LightningModule):
    """What a resume can get wrong shows in its numbers: order, random numbers, rate, what is validated."""

    def __init__(self, *, plateau_by_epoch: bool) -> None:
        super().__init__()
        self.plateau_by_epoch = plateau_by_epoch
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.seen: list[float] = []

    def training_step(self, batch: Tensor, number: int) -> Tensor:
        noise = torch.rand(()) + np.random.rand()
        loss = (batch.mean() * self.weight[0] - noise * self.weight[1]).square()
        rate = self.trainer.optimizers[0].param_groups[0]["lr"]
        self.log_dict({"train/loss": loss.detach(), "train/rate": rate})
        return loss

    def on_validation_epoch_start(self) -> None:
        self.seen = []

    def validation_step(self, batch: Tensor, number: int) -> None:
        self.seen += (batch * self.weight[0] + torch.rand(()) * self.weight[1]).tolist()

    def on_validation_epoch_end(self) -> None:
        values = {"val/score": sum(self.seen), "val/items": float(len(self.seen))}
        self.log_dict(values)
        if not (self.plateau_by_epoch or self.trainer.sanity_checking):  # as the tasks of the project do it
            self.lr_schedulers().step(values["val/score"])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.9, patience=0, threshold=10.0
        )
        schedule = {"scheduler": plateau, "interval": "epoch", "monitor": "val/score"}
        if not self.plateau_by_epoch:
            schedule["frequency"] = sys.maxsize
        return [optimizer], [schedule]


class Fault(Callback):
    """An accident at one of the hooks of a fit, counted from 1; none by default.

    Attributes:
        reached: the hooks so far.
    """

    def __init__(self, place: int | None = None, number: int | None = None) -> None:
        """Kills, or raises the signal of that number."""
        self.place, self.number = place, number
        self.reached: list[str] = []

    def at(self, hook: str) -> None:
        self.reached.append(hook)
        if len(self.reached) == self.place:
            if self.number is None:
                raise Killed(hook)
            signal.raise_signal(self.number)


def _hook(name: str) -> Callable[..., None]:
    return lambda self, *_, **__: self.at(name)


for _name in (
    *("on_fit_start", "on_train_start", "on_train_epoch_start", "on_train_batch_start", "on_before_backward"),
    *("on_before_zero_grad", "on_train_batch_end", "on_validation_start", "on_validation_batch_start"),
    *("on_validation_batch_end", "on_validation_epoch_end", "on_validation_end", "on_save_checkpoint"),
    *("on_train_epoch_end", "on_train_end"),
):
    setattr(Fault, _name, _hook(_name))


AVERAGES: dict[str | None, Callable[[], list[Averaging]]] = {
    None: list,
    "last": lambda: [CheckpointAveraging(checkpoints=2)],
    "exponential": lambda: [ExponentialAveraging(decay=0.9)],
}


def fit(
    folder: Path,
    settings: Mapping[str, Any],
    *,
    every: int | None = None,
    fault: Fault | None = None,
    resume: bool = False,
) -> str:
    """Fits, or goes on: `finished`, `killed` or `preempted`.

    Settings are the trainer's, and `averaging` and `plateau_by_epoch`; `every` so many steps it saves.
    """
    options = dict(settings)
    averaging = AVERAGES[options.pop("averaging", None)]()
    task = Task(plateau_by_epoch=options.pop("plateau_by_epoch", False))
    last = folder / "checkpoints" / "last.ckpt"
    goes_on = resume and last.exists()
    if not goes_on:
        (folder / "metrics.csv").unlink(missing_ok=True)
    best = ModelCheckpoint(
        dirpath=folder / "checkpoints",
        filename="best",
        monitor="val/score",
        save_on_train_epoch_end=False,
        enable_version_counter=False,
    )
    saves = LastCheckpoint(folder=folder, every_n_minutes=None, every_n_steps=every)
    torch.manual_seed(1)
    np.random.seed(1)
    with PREEMPTION:
        trainer = pl.Trainer(
            **{"max_epochs": -1, "num_sanity_val_steps": 0, "log_every_n_steps": 1, **options},
            accelerator="cpu",
            callbacks=[
                *(StepAxis(), RandomState(), best, saves, *averaging, FinalValidation()),
                *([] if fault is None else [fault]),
            ],
            logger=[MetricsFile(folder / "metrics.csv")],
            plugins=[AtomicIO()],
            default_root_dir=folder,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        try:
            trainer.fit(task, datamodule=Data(), ckpt_path=last if goes_on else None, weights_only=True)
        except Killed:
            return "killed"
        except Preempted:
            return "preempted"
    return "finished"


def outcome(folder: Path) -> dict[str, Any]:
    """All that a fit leaves."""
    made: dict[str, Any] = {"metrics": (folder / "metrics.csv").read_text()}
    for name in ("best", "last"):
        checkpoint = torch.load(folder / "checkpoints" / f"{name}.ckpt", weights_only=True)
        kept = ("global_step", "epoch", "state_dict", "optimizer_states", "lr_schedulers")
        made[name] = {key: checkpoint[key] for key in kept}
    return made


def same(one: Any, other: Any) -> bool:
    """To the last bit."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return torch.equal(one, other) if isinstance(one, Tensor) else bool(one == other)
