"""Advice for when memory runs out."""

from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback

_CPU_ALLOCATOR = "DefaultCPUAllocator"


class MemoryAdvice(Callback):
    """Adds to an out-of-memory error the size of the batch and the settings that make it smaller."""

    def __init__(self) -> None:
        self._batch = "the first batch"
        self._keys: tuple[str, ...] = ()

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Remembers the batch."""
        self._remember("training", batch_idx, batch)

    def on_validation_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int, *_: object
    ) -> None:
        """Remembers the batch."""
        self._remember("validation", batch_idx, batch)

    def on_test_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int, *_: object
    ) -> None:
        """Remembers the batch."""
        self._remember("test", batch_idx, batch)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Adds the advice as a note, which is logged with the error."""
        if not _is_out_of_memory(exception):
            return
        data = trainer.datamodule  # type: ignore[attr-defined]
        size, *others = (_with_value(key, data) for key in self._keys or ("the batch",))
        cut = "Raise trainer.accumulate_grad_batches, which cuts the batch and keeps its effect"
        exception.add_note(
            f"memory ran out on {self._batch}. {', or '.join([cut, f'lower {size}', *others])}; on a GPU"
            " bf16-mixed precision halves what activations need"
        )

    def _remember(self, stage: str, number: int, batch: Any) -> None:
        """Keeps a description of the batch, and not the batch, which takes memory."""
        self._batch = f"{stage} batch {number}: {getattr(batch, 'shape', 'of unknown size')}"
        self._keys = getattr(batch, "memory_keys", ())


def _with_value(key: str, data: object) -> str:
    """A setting, with its value where it is one of the data module's."""
    group, _, name = key.partition(".")
    value = getattr(data, name, None) if group == "data" else None
    return key if value is None else f"{key} (now {value})"


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; on a CPU only the text of torch's RuntimeError tells."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or _CPU_ALLOCATOR in str(error)
