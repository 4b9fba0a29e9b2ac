"""Soft attention by products: in torch's fused kernels, which never store weights, or in our short one."""

import torch
from torch import Tensor
from torch.nn import functional

from zoo.attention.attention import Attention
from zoo.attention.memory import Memory
from zoo.attention.selections import Soft
from zoo.kernels import short_attention
from zoo.kernels.precision import at_least_float32
from zoo.kernels.transforms import transformed

_FEWEST_KEYS_ON_A_CPU = 128
"""From here on the kernel is faster there (benchmarks/fused_attention.py)."""


def is_soft_product(attention: Attention) -> bool:
    """Whether torch's kernels support it: a softmax over products of one scale, without `torch.func`."""
    selection = attention.selection
    if type(selection) is not Soft or isinstance(selection.temperature, Tensor):
        return False
    return attention.score.is_product and not transformed()


def can_fuse(attention: Attention, memory: Memory) -> bool:
    """Whether there is a kernel for this attention, and it is faster for this memory."""
    on_cpu = memory.values.device.type == "cpu"
    return is_soft_product(attention) and (not on_cpu or memory.values.shape[-2] >= _FEWEST_KEYS_ON_A_CPU)


def is_short(attention: Attention, query: Tensor, memory: Memory) -> bool:
    """Whether `short_attention` reads the same, on a CPU, where torch's kernels do not pay yet."""
    if memory.values.device.type != "cpu" or torch.compiler.is_compiling() or not is_soft_product(attention):
        return False
    assert isinstance(attention.selection, Soft)
    leads = {part.shape[:-2] for part in (query, memory.projected, memory.values)}
    return len(leads) == 1 and bool(attention.selection.temperature == 1)


def short_context(attention: Attention, query: Tensor, memory: Memory) -> Tensor:
    """The context of `attention.read`, except for rounding.

    Args:
        attention: for which `is_short` is True.
        query: `(*lead, Q, Dq)`.
        memory: of that attention.

    Returns:
        `(*lead, Q, Dv)`.
    """
    dropout = attention.dropout.p if attention.training else 0.0
    return short_attention(query, memory.projected, memory.values, memory.keep_mask, dropout)


def fused_context(attention: Attention, query: Tensor, memory: Memory, *, causal: bool = False) -> Tensor:
    """The context of `attention.read`, except for rounding and for which weights are dropped.

    Args:
        attention: for which `can_fuse` is True.
        query: `(*lead, Q, Dq)`.
        memory: of that attention.
        causal: whether its mask is `causal_mask(Q, K)` with Q = K; kernels then need no mask.

    Returns:
        `(*lead, Q, Dv)`.
    """
    assert isinstance(attention.selection, Soft)
    assert not isinstance(attention.selection.temperature, Tensor)
    (keys, values, mask, _), empty = memory, None
    lead = torch.broadcast_shapes(query.shape[:-3], values.shape[:-3])
    query, keys, values = (tensor.expand(*lead, *tensor.shape[-3:]) for tensor in (query, keys, values))
    on_cpu = query.device.type == "cpu"
    if on_cpu:
        # A CPU's kernel takes many times as long for a backward pass in bfloat16 as in float32.
        query, keys, values = (tensor.to(at_least_float32(tensor)) for tensor in (query, keys, values))
    if causal:
        mask = None
    elif mask is not None:
        # Some kernels fail on rows without a key: these read everything, and become zeros below.
        empty = ~mask.any(-1, keepdim=True)
        mask = mask | empty
        if mask.ndim > 2:
            mask = mask.expand(*lead, *mask.shape[-3:])
    with torch.autocast(
        query.device.type, enabled=not on_cpu and torch.is_autocast_enabled(query.device.type)
    ):
        context = functional.scaled_dot_product_attention(
            _four_axes(query),
            _four_axes(keys),
            _four_axes(values),
            attn_mask=None if mask is None else _four_axes(mask),
            is_causal=causal,
            dropout_p=attention.dropout.p if attention.training else 0.0,
            scale=1 / attention.selection.temperature,
        ).view(*query.shape[:-1], -1)
    context = context.to(memory.values.dtype)
    return context if empty is None else context.masked_fill(empty, 0.0)


def _four_axes(tensor: Tensor) -> Tensor:
    """Joins the leading axes: fused kernels have one axis for the batch."""
    return tensor.flatten(0, -4) if tensor.ndim > 3 else tensor
