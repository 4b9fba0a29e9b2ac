"""What every part of `benchmarks/gpu.py` is told, and how all of them take time and memory."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Setting:
    """Where to measure, and how much.

    Attributes:
        device: where.
        tiny: sizes that a CPU tries in seconds.
        minutes: for everything.
        began: when the command did.
    """

    device: torch.device
    tiny: bool
    minutes: float
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float:
        """Until everything must have ended."""
        return self.began + 60 * self.minutes - time.monotonic()

    def size(self, whole: int, tiny: int) -> int:
        """A size for a GPU, or for a trial."""
        return tiny if self.tiny else whole

    def autocast(self, precision: str) -> torch.autocast:
        """The context of a computation in `32-true` or `bf16-mixed`."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=precision == "bf16-mixed")

    def wait(self) -> None:
        """Until the device has done what it was told."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def forget(self) -> None:
        """Memory is counted from here on."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)

    def peak_gigabytes(self) -> float:
        """Most memory since `forget`; of a CPU's process since its start."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device) / 1e9
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9

    def milliseconds(self, compute: Callable[[], Any], *, repeats: int = 10, unmeasured: int = 3) -> float:
        """Mean time of a computation, between two waits for the device."""
        for _ in range(unmeasured):
            compute()
        self.wait()
        start = time.perf_counter()
        for _ in range(repeats):
            compute()
        self.wait()
        return (time.perf_counter() - start) / repeats * 1e3
