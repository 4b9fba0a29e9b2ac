"""Splitting projections among heads with one copy forward and one back."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from zoo.kernels.transforms import transformed


def split_heads(projected: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """The heads of several projections that one product computed.

    Products of all heads need each head's rows side by side. torch copies each projection when it is
    multiplied, and again in the backward pass, with a copy for the sum of the parts.

    Args:
        projected: `(*lead, N, parts * heads * d)`.
        parts: how many projections stand side by side, of one size.
        heads: of each.

    Returns:
        For each part `(*lead, heads, N, d)`.
    """
    if torch.compiler.is_compiling() or transformed() or projected.device.type != "cpu":
        return plain_heads(projected, parts, heads)
    found: tuple[Tensor, ...] = _SplitHeads.apply(projected, parts, heads)
    return found


def plain_heads(projected: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """The same as views."""
    views: tuple[Tensor, ...] = projected.unflatten(-1, (parts, heads, -1)).transpose(-4, -2).unbind(-3)
    return views


class _SplitHeads(Function):
    @staticmethod
    def forward(ctx: Any, projected: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
        ctx.shape, ctx.parts, ctx.heads = projected.shape, parts, heads
        return tuple(part.contiguous() for part in plain_heads(projected, parts, heads))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        if torch.is_grad_enabled():
            joined = torch.stack([gradient.transpose(-3, -2) for gradient in gradients], -3)
            return joined.flatten(-3), None, None
        joined = gradients[0].new_empty(ctx.shape)
        for into, gradient in zip(plain_heads(joined, ctx.parts, ctx.heads), gradients, strict=True):
            into.copy_(gradient)
        return joined, None, None
