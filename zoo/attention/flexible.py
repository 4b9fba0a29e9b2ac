"""Windowed self-attention by torch's `flex_attention`, a compiled kernel on a GPU.

The kernel skips blocks of keys that no query of a block may see. It has no dropout, and no backward pass on
a CPU; where it is unavailable, `SelfAttention` reads slice by slice.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from zoo.attention.attention import Attention
from zoo.attention.fused import is_soft_product
from zoo.attention.memory import Attended, Memory
from zoo.attention.selections import Soft

_BLOCK = 128
"""Queries, and keys, in a block that the kernel skips or reads."""

_devices = ("cuda",)
_refused = False


def can_flex(attention: Attention, device: torch.device) -> bool:
    """Whether the kernel supports this attention on this device, and has not failed before."""
    dropping = attention.training and attention.dropout.p > 0
    return is_soft_product(attention) and not dropping and device.type in _devices and not _refused


def flex_context(
    attention: Attention, query: Tensor, memory: Memory, kept: Tensor, *, window: int, causal: bool
) -> Attended | None:
    """Reads a window by a score that is a product, and `Soft`.

    Args:
        attention: its temperature is used.
        query: `(*lead, h, N, Dq)`.
        memory: of N keys; its mask is ignored.
        kept: boolean, `(*lead, N)`, which keys may be read.
        window: number of positions to either side that are read.
        causal: whether positions ahead are left out.

    Returns:
        The context `(*lead, h, N, Dv)`; None, with one warning, where the kernel cannot be built.
    """
    global _refused
    assert isinstance(attention.selection, Soft)
    assert not isinstance(attention.selection.temperature, Tensor)
    keep = kept.reshape(-1, kept.shape[-1])  # (B, N)
    try:
        mask = window_mask(keep, window=window, causal=causal)
        context: Tensor = _kernel(query.device.type)(
            *(tensor.reshape(len(keep), *tensor.shape[-3:]) for tensor in (query, *memory[:2])),
            block_mask=mask,
            scale=1 / attention.selection.temperature,
        )
    except torch.OutOfMemoryError:  # slices would need as much
        raise
    except Exception as error:  # from the compiler, the driver, unsupported sizes
        _refused = True
        reason = f"flex_attention cannot be used, windows are read slice by slice: {error}"
        warnings.warn(reason, RuntimeWarning, stacklevel=2)
        return None
    return Attended(context.view(*query.shape[:-1], -1), None)


def window_mask(keep: Tensor, *, window: int, causal: bool) -> BlockMask:
    """The blocks that a window touches, found without a mask of all pairs of positions.

    Args:
        keep: boolean, `(B, N)`, which keys may be read.
        window: number of positions to either side that are read.
        causal: whether positions ahead are left out.
    """
    size, ahead = keep.shape[-1], 0 if causal else window

    def near(b: Tensor, _: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return keep[b, k] & (k >= q - window) & (k <= q + ahead)

    block = torch.arange(-(-size // _BLOCK), device=keep.device, dtype=torch.int32)
    first = ((block * _BLOCK - window) // _BLOCK).clamp(min=0)
    last = ((block * _BLOCK + _BLOCK - 1 + ahead) // _BLOCK).clamp(max=len(block) - 1)
    read = (first[:, None] + block) % len(block)  # of each row only the first entries count
    return BlockMask.from_kv_blocks(
        (last - first + 1)[None, None],
        read[None, None],
        BLOCK_SIZE=_BLOCK,
        mask_mod=near,
        seq_lengths=(size, size),
    )


@cache
def _kernel(device: str) -> Callable[..., Any]:
    """The kernel, compiled on a GPU, once for all lengths."""
    kernel: Callable[..., Any] = flex_attention
    return torch.compile(kernel, dynamic=True) if device == "cuda" else kernel
