"""Random numbers that continue after a resume where they stopped."""

import logging
import random
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
import torch.distributed
from lightning.pytorch import Callback

log = logging.getLogger(__name__)

State = dict[str, Any]


class RandomState(Callback):
    """Keeps every generator's state in the checkpoint, for each process.

    A validation uses a copy of the states, so that how often one validates changes nothing else. Processes
    differ in dropout; sampled readings belong to their items, see `zoo.kernels.noise`.
    """

    def __init__(self) -> None:
        self._loaded: list[State] | None = None
        self._resumed: State | None = None
        self._before_validation: State | None = None

    def state_dict(self) -> dict[str, Any]:
        """The states of each process; in a validation those from before it."""
        own = self._before_validation or _current()
        if not torch.distributed.is_initialized():
            return {"processes": [own]}
        states: list[State] = [{}] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(states, own)
        return {"processes": states}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps the states for the fit that is about to start."""
        self._loaded = state_dict["processes"]

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Takes this process's state; a checkpoint that is only tested changes nothing."""
        states, rank, self._loaded = self._loaded or [], trainer.global_rank, None
        if states and len(states) != trainer.world_size and trainer.is_global_zero:
            log.warning(
                "the checkpoint is one of %d processes, %d go on: batches and sampled readings stay those of"
                " the run, dropout does not, and sums are rounded in another order",
                *(len(states), trainer.world_size),
            )
        if rank < len(states):
            self._resumed = states[rank]
        elif rank:  # until here all have drawn the same numbers, to build the same model
            torch.manual_seed(torch.initial_seed() * 1_000_003 + trainer.global_step * 1_009 + rank)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """For a validation that is repeated before the first step."""
        if self._resumed is not None:
            _restore(self._resumed)

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Restores the states, after all preparations of the fit."""
        if self._resumed is not None:
            _restore(self._resumed)
            self._resumed = None

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keeps the states of the training."""
        self._before_validation = _current()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restores them."""
        if self._before_validation is not None:
            _restore(self._before_validation)
            self._before_validation = None


def _current() -> State:
    numpy = np.random.get_state(legacy=True)
    version, numbers, gauss = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,  # of this device
        # uint32 fits into int64, which every version of torch can store
        "numpy": [numpy[0], torch.from_numpy(numpy[1].astype(np.int64)), *numpy[2:]],  # type: ignore[index]
        "python": [version, list(numbers), gauss],
    }


def _restore(state: State) -> None:
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
