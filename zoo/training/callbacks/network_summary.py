"""What a network consists of, said once at the start of a run."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch import Callback
from torch import Tensor, nn

from zoo.runtime.flops import flop_counter

log = logging.getLogger(__name__)

_MOST_ROWS = 24


class NetworkSummary(Callback):
    """Logs the parts of the network with what the first batch showed: shapes, parameters and operations.

    Operations are those of products, forward and backward, of the first step; a multiplication and an
    addition are two. A part that a step does not call has neither a shape nor operations. A resumed run
    says nothing.

    Args:
        depth: 1 for the parts of the network, 2 also for theirs, and so on; 0 for no table.
    """

    def __init__(self, *, depth: int = 2) -> None:
        if depth < 0:
            raise ValueError(f"depth must be at least 0, got {depth}")
        self.depth = depth
        self._watching: ExitStack | None = None
        self._shapes: dict[str, str] = {}

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Begins to watch the first batch."""
        if self.depth == 0 or trainer.global_step > 0 or batch_idx > 0 or not trainer.is_global_zero:
            return
        self._watching = ExitStack()
        for name, part in _parts(_network(pl_module), self.depth):
            self._watching.callback(part.register_forward_hook(partial(self._see, name)).remove)
        self._watching.enter_context(torch.compiler.set_stance("force_eager"))
        self._counter = self._watching.enter_context(flop_counter())

    def _see(self, name: str, part: nn.Module, inputs: Any, output: Any) -> None:
        shape = next((tuple(tensor.shape) for tensor in _tensors(output)), None)
        if shape is not None:
            self._shapes.setdefault(name, " x ".join(map(str, shape)) or "a number")

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Logs the table."""
        if self._watching is None:
            return
        self._stop()
        network = _network(pl_module)
        rows = [("", "", "output of the first batch", "parameters"), _row("network", network, "")]
        rows += [
            _row("  " * (name.count(".") + 1) + name.rpartition(".")[2], part, self._shapes.get(name, ""))
            for name, part in _parts(network, self.depth)
        ]
        operations = self._counter.get_total_flops()
        said = f"{operations / 10**9:,.3g} GFLOP forward and backward in the first batch"
        log.info("%s", "\n".join([*_aligned(rows), said]))

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Stops to watch."""
        self._stop()

    def _stop(self) -> None:
        if self._watching is not None:
            self._watching.close()
            self._watching = None


def _network(task: nn.Module) -> nn.Module:
    """The task's network; a task from outside may be its own."""
    network: nn.Module = getattr(task, "network", task)
    return network


def _parts(network: nn.Module, depth: int) -> Iterator[tuple[str, nn.Module]]:
    """The parts that have parameters, with their names, from above to below."""
    for name, part in network.named_modules(remove_duplicate=False):
        if name and name.count(".") < depth and any(True for _ in part.parameters()):
            yield name, part


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)


def _row(name: str, part: nn.Module, shape: str) -> tuple[str, str, str, str]:
    parameters = sum(weight.numel() for weight in part.parameters())
    return name, type(part).__name__, shape, f"{parameters:,}"


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """Lines with columns; of many parts the first ones."""
    more = len(rows) - _MOST_ROWS
    rows = rows[:_MOST_ROWS]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{name:{widths[0]}}  {kind:{widths[1]}}  {shape:{widths[2]}}  {count:>{widths[3]}}"
        for name, kind, shape, count in rows
    ]
    return [*lines, f"  and {more} more"] if more > 0 else lines
