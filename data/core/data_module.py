"""What the data modules of all tasks share: batches, their place in the epoch, the specification."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from torch.utils.data import Dataset

from data.core.batching import Batches, BatchLoader, Layout, Part
from zoo.core.spec import DataSpec, FieldSpec, TextSpec

_log = logging.getLogger(__name__)


class DataModule(LightningDataModule):
    """Splits whose items make batches. A derived class fills them, and the specification, in `setup`.

    Attributes:
        baselines: for each test split, what an answer without a model scores.
        report: for each split, numbers of items.
    """

    def __init__(self, *, seed: int, num_workers: int, worker_timeout: float) -> None:
        """Reads nothing yet.

        Args:
            seed: of the order of training batches.
            num_workers: processes that load batches; 0 loads them in the training process.
            worker_timeout: seconds to wait for a batch from such a process before the run fails; 0 waits for
                ever.

        Raises:
            ValueError: a number is too small.
        """
        super().__init__()
        require_at_least(
            ("seed", seed, 0), ("num_workers", num_workers, 0), ("worker_timeout", worker_timeout, 0)
        )
        self.seed, self.num_workers, self.worker_timeout = seed, num_workers, worker_timeout
        self.baselines: dict[str, dict[str, float]] = {}
        self.report: dict[str, dict[str, float]] = {}
        self._spec: DataSpec | None = None
        self._splits: dict[str, Dataset[Any]] = {}
        self._place = (0, 0)

    @property
    def spec(self) -> DataSpec:
        """What a task must know of the data."""
        if self._spec is None:
            raise RuntimeError("the data's specification exists after setup()")
        return self._spec

    def placeholder(self) -> dict[str, FieldSpec]:
        """The fields of `spec`, as far as they are known before anything is read; the rest is arbitrary."""
        return {}

    @property
    def test_splits(self) -> list[str]:
        """`test` first, then the data's other test splits."""
        return sorted(split for split in self._splits if split.startswith("test"))

    def batch(self, split: str, numbers: Sequence[int]) -> Any:
        """Items of a split by their numbers; those to train on as they are in the first epoch."""
        return self._splits[split][Part(0, np.asarray(numbers))]

    def train_dataloader(self) -> BatchLoader[Any]:
        """Batches in an order of their own for each epoch; after `load_state_dict`, from its place on."""
        loader, layout = self._loader("train", seed=self.seed), self._layout
        loader.batches.seek(*self._place)
        if layout.parts > 1 and not layout.rank:
            sizes = [
                f"{name}={getattr(self, name)}"
                for name in ("batch_tokens", "batch_size")
                if hasattr(self, name)
            ]
            _log.info(
                "a batch (%s) is cut into %d parts for %d processes, %d for each in turn; optimizer.lr is"
                " that of the whole batch",
                *(", ".join(sizes), layout.parts, layout.processes, layout.accumulated),
            )
        return loader

    def val_dataloader(self) -> BatchLoader[Any]:
        """Every validation item once, always in the same order."""
        return self._loader("val", seed=None)

    def test_dataloader(self) -> list[BatchLoader[Any]]:
        """One loader for each of `test_splits`: every item once, always in the same order."""
        return [self._loader(split, seed=None) for split in self.test_splits]

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        """The batch there. What stays on the CPU Lightning would search for tensors, name by name."""
        if device.type == "cpu":
            return batch
        return super().transfer_batch_to_device(batch, device, dataloader_idx)

    def state_dict(self) -> dict[str, Any]:
        """How many batches of which epoch have been trained on, for the checkpoint."""
        assert self.trainer is not None  # it is the trainer that asks
        progress = self.trainer.fit_loop.epoch_loop.batch_progress.state_dict()["current"]
        # The trainer counts the parts of this process, of which each batch has equally many.
        batches = progress["processed"] // self.trainer.accumulate_grad_batches
        return {"epoch": self.trainer.current_epoch, "batches": batches}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps the place for `train_dataloader`, which the trainer calls later."""
        self._place = (int(state_dict["epoch"]), int(state_dict["batches"]))

    @property
    def _layout(self) -> Layout:
        if self.trainer is None:
            return Layout()
        return Layout(self.trainer.world_size, self.trainer.global_rank, self.trainer.accumulate_grad_batches)

    @property
    def _on_a_gpu(self) -> bool:
        if self.trainer is None or not torch.cuda.is_available():
            return False
        return bool(self.trainer.strategy.root_device.type == "cuda")

    def _batches(self, split: str, seed: int | None, layout: Layout) -> Batches:
        """The batches of a split; see `Batches`."""
        raise NotImplementedError

    def _loader(self, split: str, seed: int | None) -> BatchLoader[Any]:
        return BatchLoader(
            self._splits[split],
            self._batches(split, seed, self._layout),
            workers=self.num_workers,
            worker_timeout=self.worker_timeout,
            pinned=self._on_a_gpu,
        )


def require_at_least(*numbers: tuple[str, float, float]) -> None:
    """Refuses numbers that are too small.

    Args:
        numbers: name, value and smallest allowed value of each.

    Raises:
        ValueError: names the first.
    """
    for name, value, least in numbers:
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def check_same_data(checkpoint: DataSpec, data: DataSpec) -> None:
    """Refuses data that is not what a checkpoint was trained with: ids and labels would mean other things.

    Raises:
        ValueError: names each difference.
    """
    names = dict.fromkeys((*checkpoint.fields, *data.fields))
    meanings = "vocabulary" if any(isinstance(one, TextSpec) for one in data.fields.values()) else "classes"
    differences = [
        f"{what}: {before} in the checkpoint, {now} in the data"
        for what, before, now in (
            ("name", checkpoint.name, data.name),
            *((name, *(str(spec.fields.get(name, "none")) for spec in (checkpoint, data))) for name in names),
            (meanings, checkpoint.vocabulary_hash[:12], data.vocabulary_hash[:12]),
            ("test split", checkpoint.test_hash[:12], data.test_hash[:12]),
        )
        if before != now
    ]
    if differences:
        raise ValueError("the checkpoint belongs to other data; " + "; ".join(differences))
