"""The speed of a run, and its cost."""

import resource
import sys
import time
from contextlib import ExitStack
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from zoo.core.batch import Batch, Padded
from zoo.runtime.flops import flop_counter, peak_flops


class Throughput(Callback):
    """Logs speed, learning rate, gradient norm and memory; keeps the totals for results.json.

    Speed is measured in the batches' `throughput_counts`, summed over all processes, per second of training:
    with data loading, without validation. Counts stay on the device between two logged steps.

    On a GPU whose peak is known it also logs `train/mfu`, operations per second relative to that peak
    (Chowdhery et al. 2022, appendix B). The operations of the first batch are counted, uncompiled; the others
    are estimated from their numbers of items.

    Attributes:
        seconds: wall-clock time of the fit so far, validation included.
        peak_memory_bytes: the largest memory so far, of the GPU where there is one, else of the process.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.peak_memory_bytes = 0
        self._earlier_seconds = self._began = self._mark = 0.0
        self._training_seconds = self._window_seconds = 0.0
        self._totals: dict[str, int] = {}
        self._window: dict[str, Tensor | int] = {}  # counts since the last log
        self._gradient_norm: Tensor | None = None
        self._logged_step = 0
        self._peak: float | None = None
        self._flops_per_item: float | None = None
        self._counting: ExitStack | None = None
        self._loaded: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """Totals of all parts of a resumed run, and counts since the last log."""
        return {
            "seconds": self.seconds,
            "training_seconds": self._training_seconds,
            "totals": dict(self._totals),
            "peak_memory_bytes": self.peak_memory_bytes,
            "logged_step": self._logged_step,
            "flops_per_item": self._flops_per_item,
            "window": {
                "seconds": self._window_seconds,
                **{name: int(count) for name, count in self._window.items()},
            },
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps the totals for the fit that is about to start."""
        self._loaded = state_dict

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restores the totals; a checkpoint that is only tested changes nothing."""
        if self._loaded is not None:
            self._earlier_seconds = self.seconds = self._loaded["seconds"]
            self._training_seconds = self._loaded["training_seconds"]
            self._totals = dict(self._loaded["totals"])
            self.peak_memory_bytes = self._loaded["peak_memory_bytes"]
            self._flops_per_item = self._loaded.get("flops_per_item")  # earlier versions have none
            self._logged_step, self._window = self._loaded["logged_step"], dict(self._loaded["window"])
            self._window_seconds = float(self._window.pop("seconds"))
            self._loaded = None

    @property
    def per_second(self) -> dict[str, float]:
        """The mean speed of the training so far."""
        if not self._training_seconds:
            return {}
        return {name: total / self._training_seconds for name, total in self._totals.items()}

    @property
    def totals(self) -> dict[str, Any]:
        """The entries of results.json: seconds, per_second, peak_memory_bytes."""
        return {
            "seconds": self.seconds,
            "per_second": self.per_second,
            "peak_memory_bytes": self.peak_memory_bytes,
        }

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clocks."""
        self._began = self._mark = time.perf_counter()
        if pl_module.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(pl_module.device)
        self._peak = peak_flops(pl_module.device)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Begins to count the operations of the first batch, where the peak is known."""
        if self._peak is not None and self._flops_per_item is None:
            self._counting = ExitStack()
            self._counting.enter_context(torch.compiler.set_stance("force_eager"))
            self._counter = self._counting.enter_context(flop_counter())

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Stops to count operations."""
        self._stop_counting()

    def _stop_counting(self) -> None:
        if self._counting is not None:
            self._counting.close()
            self._counting = None

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the training clock again."""
        self._mark = time.perf_counter()

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer
    ) -> None:
        """Takes the norm of all gradients before they are clipped, at logged steps."""
        if _is_logged(trainer, trainer.global_step + 1):
            gradients = [weight.grad for weight in pl_module.parameters() if weight.grad is not None]
            self._gradient_norm = get_total_norm(gradients)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: object,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Counts, and logs every `log_every_n_steps` steps."""
        if self._counting is not None:
            self._stop_counting()
            items = next(iter(batch.throughput_counts.values()))
            self._flops_per_item = self._counter.get_total_flops() / max(1, int(items))
        counts = dict(batch.throughput_counts)
        if sides := [side for side in batch if isinstance(side, Padded)]:
            counts["real"] = torch.stack([side.lengths.sum() for side in sides]).sum()
            counts["positions"] = sum(side.ids.numel() for side in sides)
        for name, count in counts.items():
            self._window[name] = self._window.get(name, 0) + count
        step = trainer.global_step
        if _is_logged(trainer, step) and step != self._logged_step:
            self._logged_step = step
            values = self._close_window(pl_module)
            values["train/learning_rate"] = trainer.optimizers[0].param_groups[0]["lr"]
            if self._gradient_norm is not None:
                values["train/gradient_norm"] = self._gradient_norm
            pl_module.log_dict(values, batch_size=1)
        now = time.perf_counter()
        self._window_seconds += now - self._mark
        self._mark = now

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Adds the steps since the last logged one to the totals."""
        self._close_window(pl_module)

    def _close_window(self, pl_module: pl.LightningModule) -> dict[str, Tensor | float]:
        """Adds the counts since the last call to the totals, and returns the values to log."""
        counted = [int(count) for count in self._window.values()]  # waits for the device, before the clock
        trainer = pl_module.trainer
        if trainer.world_size > 1 and counted:  # each process counts its own batches
            sums = torch.tensor(counted, device=pl_module.device)
            counted = trainer.strategy.reduce(sums, reduce_op="sum").tolist()
        counts = dict(zip(self._window, counted, strict=True))
        real, positions = counts.pop("real", 0), counts.pop("positions", 0)
        now = time.perf_counter()
        seconds = self._window_seconds + now - self._mark
        self._mark, self.seconds = now, self._earlier_seconds + now - self._began
        self.peak_memory_bytes = max(self.peak_memory_bytes, _peak_memory(pl_module.device))
        values: dict[str, Tensor | float] = {
            "train/seconds": self.seconds,
            "train/peak_memory_bytes": float(self.peak_memory_bytes),
        }
        if seconds > 0:
            values |= {f"train/{name}_per_second": count / seconds for name, count in counts.items()}
        if seconds > 0 and counts and self._peak is not None and self._flops_per_item is not None:
            flops = self._flops_per_item * next(iter(counts.values()))
            values["train/mfu"] = flops / seconds / (self._peak * trainer.world_size)
        if positions:
            values["train/real_token_share"] = real / positions
        self._training_seconds += seconds
        for name, count in counts.items():
            self._totals[name] = self._totals.get(name, 0) + count
        self._window, self._window_seconds = {}, 0.0
        return values


def _is_logged(trainer: pl.Trainer, step: int) -> bool:
    every = trainer.log_every_n_steps  # type: ignore[attr-defined]
    return every > 0 and step > 0 and step % every == 0


def _peak_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
