"""Where the tests of a GPU run: `ZOO_TEST_DEVICE=cpu` tries them where there is none."""

import os
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = os.environ.get("ZOO_TEST_DEVICE", "cuda")

_READ_THE_DEVICE = (
    *("aten._local_scalar_dense", "aten.nonzero", "aten.masked_select", "aten.equal", "aten.unique"),
    *("aten._unique", "aten.is_nonzero"),
)


class _Watch(TorchDispatchMode):
    """Fails at an operation whose result's size or branch hangs on values, which a GPU must compute first."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, chosen = str(operation), []
        if name.startswith(("aten.index.", "aten.index_put")):
            chosen = [index for index in args[1] if index is not None and index.dtype == torch.bool]
        counted = name.startswith("aten.repeat_interleave.Tensor") and not (kwargs or {}).get("output_size")
        if name.startswith(_READ_THE_DEVICE) or chosen or counted:
            lines = [str(line) for line in traceback.extract_stack() if "/zoo/" in line.filename]
            raise AssertionError(f"{name} waits for the device: {lines[-1:]}")
        return operation(*args, **(kwargs or {}))


@contextmanager
def no_waiting() -> Iterator[None]:
    """Inside, nothing may wait for the device."""
    if DEVICE == "cpu":
        with _Watch():
            yield
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
