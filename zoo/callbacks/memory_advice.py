"""What to do when memory runs out."""

from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback

from zoo.batch import Padded

_CPU_ALLOCATOR = "DefaultCPUAllocator"


class MemoryAdvice(Callback):
    """Adds to an out-of-memory error the shape of the batch that was too large, and what makes it smaller."""

    def __init__(self) -> None:
        self._shape = ""

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Remembers the batch."""
        self._shape = f"training batch {batch_idx}: {_shape(batch)}"

    def on_validation_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int, *_: object
    ) -> None:
        """Remembers the batch."""
        self._shape = f"validation batch {batch_idx}: {_shape(batch)}"

    def on_test_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int, *_: object
    ) -> None:
        """Remembers the batch."""
        self._shape = f"test batch {batch_idx}: {_shape(batch)}"

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Says it in a note of the error itself, which is logged with it."""
        if not _is_out_of_memory(exception):
            return
        data = trainer.datamodule  # type: ignore[attr-defined]
        tokens, longest = getattr(data, "batch_tokens", None), getattr(data, "maximum_length", None)
        exception.add_note(
            f"memory ran out on {self._shape or 'the first batch'}. Lower data.batch_tokens (now {tokens}),"
            " raising trainer.accumulate_grad_batches to keep the batch's effect, or data.maximum_length"
            f" (now {longest}), model.hidden_size or decoding.beam_size; on a GPU bf16-mixed precision halves"
            " what activations need"
        )


def _shape(batch: Any) -> str:
    sides = [side for side in batch if isinstance(side, Padded)] if isinstance(batch, tuple) else []
    return ", ".join(f"{side.ids.shape[0]} sentences x {side.ids.shape[1]} tokens" for side in sides)


def _is_out_of_memory(error: BaseException) -> bool:
    """On a CPU torch raises a plain RuntimeError that only its text tells apart."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or _CPU_ALLOCATOR in str(error)
