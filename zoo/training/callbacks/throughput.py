"""How fast a run learns, and at what cost."""

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

    A batch says itself what is counted (`throughput_counts`); counts are summed over all processes that train
    together. Only time spent on training counts (data loading included, validation excluded). Counts stay on
    the device between two logged steps.

    On a card whose peak is known it logs `train/mfu`, too: operations per second as a share of that peak
    (Chowdhery et al. 2022, appendix B). The first batch is trained on under a counter, and not compiled; of
    the others the number of items says how many operations they have.

    Attributes:
        seconds: wall-clock time of the fit so far, validation included.
        peak_memory_bytes: the most memory used so far: of the GPU's where there is one, else of the process.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.peak_memory_bytes = 0
        self._earlier_seconds = self._began = self._mark = 0.0
        self._training_seconds = self._window_seconds = 0.0
        self._totals: dict[str, int] = {}
        self._amounts: dict[str, Tensor | int] = {}
        self._real: Tensor | int = 0
        self._positions = 0
        self._gradient_norm: Tensor | None = None
        self._logged_step = 0
        self._peak: float | None = None
        self._flops_per_item: float | None = None
        self._counting: ExitStack | None = None
        self._loaded: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """Totals of all parts of a resumed run, and what was counted since the last log."""
        return {
            "seconds": self.seconds,
            "training_seconds": self._training_seconds,
            "totals": dict(self._totals),
            "peak_memory_bytes": self.peak_memory_bytes,
            "logged_step": self._logged_step,
            "flops_per_item": self._flops_per_item,
            "window": {
                "seconds": self._window_seconds,
                "real": int(self._real),
                "positions": self._positions,
                **{name: int(amount) for name, amount in self._amounts.items()},
            },
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps the totals for the fit that is about to start."""
        self._loaded = state_dict

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Goes on from the totals; a checkpoint that is only tested changes nothing."""
        if self._loaded is not None:
            self._earlier_seconds = self.seconds = self._loaded["seconds"]
            self._training_seconds = self._loaded["training_seconds"]
            self._totals = dict(self._loaded["totals"])
            self.peak_memory_bytes = self._loaded["peak_memory_bytes"]
            self._flops_per_item = self._loaded.get("flops_per_item")  # of an earlier version there is none
            self._logged_step, window = self._loaded["logged_step"], dict(self._loaded["window"])
            self._window_seconds = window.pop("seconds")
            self._real, self._positions = window.pop("real"), window.pop("positions")
            self._amounts = window
            self._loaded = None

    @property
    def per_second(self) -> dict[str, float]:
        """Mean speed of the training so far."""
        if not self._training_seconds:
            return {}
        return {name: total / self._training_seconds for name, total in self._totals.items()}

    @property
    def totals(self) -> dict[str, Any]:
        """What results.json reports: seconds, per_second, peak_memory_bytes."""
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
        """Begins to count the operations of the first batch, where anybody asks for them."""
        if self._peak is not None and self._flops_per_item is None:
            self._counting = ExitStack()
            self._counting.enter_context(torch.compiler.set_stance("force_eager"))
            self._counter = self._counting.enter_context(flop_counter())

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Leaves nothing behind that counts."""
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
        """Takes the norm of all gradients before they are clipped, at the steps that are logged."""
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
        for name, amount in batch.throughput_counts.items():
            self._amounts[name] = self._amounts.get(name, 0) + amount
        if sides := [side for side in batch if isinstance(side, Padded)]:
            self._real = self._real + torch.stack([side.lengths.sum() for side in sides]).sum()
            self._positions += sum(side.ids.numel() for side in sides)
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
        """Counts the steps since the last logged one."""
        self._close_window(pl_module)

    def _close_window(self, pl_module: pl.LightningModule) -> dict[str, Tensor | float]:
        """Adds what was counted since the last call to the totals and returns it as values to log."""
        # Waits for the device: the clock is right after it.
        counted = [*self._amounts.values(), self._real, self._positions]
        trainer = pl_module.trainer
        if trainer.world_size > 1:  # each process counts what it computes
            counts = torch.tensor([int(count) for count in counted], device=pl_module.device)
            counted = trainer.strategy.reduce(counts, reduce_op="sum").tolist()
        *found, real, positions = (int(count) for count in counted)
        amounts = dict(zip(self._amounts, found, strict=True))
        now = time.perf_counter()
        seconds = self._window_seconds + now - self._mark
        self._mark, self.seconds = now, self._earlier_seconds + now - self._began
        self.peak_memory_bytes = max(self.peak_memory_bytes, _peak_memory(pl_module.device))
        values: dict[str, Tensor | float] = {
            "train/seconds": self.seconds,
            "train/peak_memory_bytes": float(self.peak_memory_bytes),
        }
        if seconds > 0:
            values |= {f"train/{name}_per_second": amount / seconds for name, amount in amounts.items()}
        if seconds > 0 and amounts and self._peak is not None and self._flops_per_item is not None:
            flops = self._flops_per_item * next(iter(amounts.values()))
            values["train/mfu"] = flops / seconds / (self._peak * trainer.world_size)
        if positions:
            values["train/real_token_share"] = real / positions
        self._training_seconds += seconds
        for name, amount in amounts.items():
            self._totals[name] = self._totals.get(name, 0) + amount
        self._amounts = {}
        self._real = self._positions = 0
        self._window_seconds = 0.0
        return values


def _is_logged(trainer: pl.Trainer, step: int) -> bool:
    every = trainer.log_every_n_steps  # type: ignore[attr-defined]
    return every > 0 and step > 0 and step % every == 0


def _peak_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
