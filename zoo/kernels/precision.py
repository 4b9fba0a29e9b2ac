"""The precision in which probabilities and losses are computed."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.amp.autocast_mode import is_autocast_available


def autocast_dtype(device_type: str) -> torch.dtype | None:
    """The dtype of mixed precision for `cpu`, `cuda`, ...; None where it is off."""
    return torch.get_autocast_dtype(device_type) if torch.is_autocast_enabled(device_type) else None


def as_factor(tensor: Tensor) -> Tensor:
    """Casts a tensor as autocast does: once, if it goes into several products."""
    lower = autocast_dtype(tensor.device.type)
    return tensor if lower is None or tensor.dtype is torch.float64 else tensor.to(lower)


def multiplies_bfloat16(device_type: str) -> bool:
    """Whether a product in bfloat16 is as fast as in float32.

    A CPU needs AVX-512 or ARM's instructions for bfloat16; without, it takes up to fifty times as long.

    Args:
        device_type: `cpu`, `cuda`, ...
    """
    if device_type != "cpu":
        return True
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def without_autocast(device_type: str) -> AbstractContextManager[None]:
    """A context without autocast."""
    # `meta` has no mixed precision, and torch's context takes longer than a small product. The compiler of
    # torch 2.11 would break the graph at `is_autocast_available`.
    if not torch.compiler.is_compiling() and not (
        is_autocast_available(device_type) and torch.is_autocast_enabled(device_type)
    ):
        return nullcontext()
    return torch.autocast(device_type, enabled=False)


def at_least_float32(tensor: Tensor) -> torch.dtype:
    """The tensor's own dtype, or float32 for half precision and whole numbers."""
    wide = tensor.is_floating_point() and tensor.dtype.itemsize >= 4
    return tensor.dtype if wide else torch.float32
