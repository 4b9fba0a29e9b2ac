"""A window in one compiled kernel: torch's `flex_attention`, on a GPU.

The kernel skips whole blocks of keys that no query of a block may see. It knows no dropout, and no CPU has
its backward pass; `SelfAttention` reads slice by slice wherever this is not to be had.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from zoo.attention.attention import Attention
from zoo.attention.fused import is_soft_product
from zoo.attention.memory import Attended, Memory
from zoo.attention.selections import Soft

_devices = ("cuda",)
_refused = False


def can_flex(attention: Attention, device: torch.device) -> bool:
    """Whether the kernel can take this attention, on this device, as far as is known."""
    dropping = attention.training and attention.dropout.p > 0
    return is_soft_product(attention) and not dropping and device.type in _devices and not _refused


def flex_context(
    attention: Attention, query: Tensor, memory: Memory, kept: Tensor, *, window: int, causal: bool
) -> Attended | None:
    """What queries read of a window, by scores that are products, and `Soft`.

    Args:
        attention: whose temperature counts.
        query: `(*lead, h, N, Dq)`.
        memory: of N keys; its mask is not looked at.
        kept: boolean, `(*lead, N)`, which keys may be read.
        window: how many positions to either side are read.
        causal: none ahead.

    Returns:
        The context `(*lead, h, N, Dv)`; None where the kernel cannot be built, which is said once.
    """
    global _refused
    assert isinstance(attention.selection, Soft)
    keep = kept.reshape(-1, kept.shape[-1])  # (B, N)
    size = keep.shape[-1]

    def near(b: Tensor, _: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return keep[b, k] & (k >= q - window) & (k <= (q if causal else q + window))

    try:
        mask = create_block_mask(near, len(keep), None, size, size, device=str(query.device))
        context: Tensor = _kernel(query.device.type)(
            *(tensor.reshape(len(keep), *tensor.shape[-3:]) for tensor in (query, *memory[:2])),
            block_mask=mask,
            scale=1 / attention.selection.temperature,
        )
    except Exception as error:  # of the compiler, the driver, the sizes that it has no kernel for
        _refused = True
        reason = f"flex_attention cannot be used, windows are read slice by slice: {error}"
        warnings.warn(reason, RuntimeWarning, stacklevel=2)
        return None
    return Attended(context.view(*query.shape[:-1], -1), None)


@cache
def _kernel(device: str) -> Callable[..., Any]:
    """Compiled where that is the point of it; one for all lengths."""
    kernel: Callable[..., Any] = flex_attention
    return torch.compile(kernel, dynamic=True) if device == "cuda" else kernel
