"""The precision in which probabilities and losses are computed."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.amp.autocast_mode import is_autocast_available


def autocast_dtype(device_type: str) -> torch.dtype | None:
    """What mixed precision casts the factors of products to, for `cpu`, `cuda`, ...; None where it is off."""
    return torch.get_autocast_dtype(device_type) if torch.is_autocast_enabled(device_type) else None


def as_factor(tensor: Tensor) -> Tensor:
    """What mixed precision makes of a factor of a product: once, for what goes into several."""
    lower = autocast_dtype(tensor.device.type)
    return tensor if lower is None or tensor.dtype is torch.float64 else tensor.to(lower)  # as autocast does


def multiplies_bfloat16(device_type: str) -> bool:
    """Whether a product in bfloat16 is no slower than in float32.

    On a CPU that needs AVX-512 (or ARM's instructions for bfloat16): without, it takes up to fifty times as
    long.

    Args:
        device_type: `cpu`, `cuda`, ...
    """
    if device_type != "cpu":
        return True
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def without_autocast(device_type: str) -> AbstractContextManager[None]:
    """A context that leaves the factors of products as they are."""
    # `meta` knows no mixed precision. Where there is none, torch's context costs more than a small product.
    # A compiler of torch 2.11 would end a graph at the first question.
    if not torch.compiler.is_compiling() and not (
        is_autocast_available(device_type) and torch.is_autocast_enabled(device_type)
    ):
        return nullcontext()
    return torch.autocast(device_type, enabled=False)


def at_least_float32(tensor: Tensor) -> torch.dtype:
    """The tensor's own dtype, or float32 for half precision and whole numbers."""
    wide = tensor.is_floating_point() and tensor.dtype.itemsize >= 4
    return tensor.dtype if wide else torch.float32
