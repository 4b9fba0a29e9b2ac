"""Soft attention by products over few keys on a CPU, with a backward pass by hand.

torch's softmax takes ten times as long for rows of twenty numbers as for long ones, and its fused kernels
begin to pay at a hundred keys. Here all rows are exponentiated at once, without their largest scores being
sought, and divided by their sums. Where a sum leaves the range, or is not a number, a softmax follows.

Shapes: Q queries, K keys, d features of a query and key, Dv of a value.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from zoo.kernels.dropout import kept_elements
from zoo.kernels.precision import as_factor, at_least_float32

_LARGEST = 2.0**64
"""Sums of exponentials beyond it, or below its inverse, may have lost some of them."""


def short_attention(
    query: Tensor, keys: Tensor, values: Tensor, keep_mask: Tensor | None, dropout: float
) -> Tensor:
    """`dropout(softmax(Q Kᵀ)) V`; under autocast the products have its precision, the softmax float32.

    Args:
        query: `(*lead, Q, d)`.
        keys: `(*lead, K, d)`.
        values: `(*lead, K, Dv)`.
        keep_mask: boolean, broadcastable to `(*lead, Q, K)`, True = may attend; None = all may. A row that
            keeps no key reads zeros.
        dropout: the probability of dropping a weight.

    Returns:
        `(*lead, Q, Dv)`.
    """
    query, keys, values = (as_factor(part).contiguous() for part in (query, keys, values))
    context: Tensor = _Read.apply(query, keys, values, keep_mask, dropout)
    return context


def _softmax(scores: Tensor, keep_mask: Tensor | None) -> Tensor:
    """In float32 at least; zeros at masked keys."""
    exponentials = scores.to(at_least_float32(scores), copy=True).exp_()
    if keep_mask is not None:
        exponentials.mul_(keep_mask.to(exponentials.dtype))
    sums = exponentials.sum(-1, keepdim=True)
    if bool(((sums > 1 / _LARGEST) & (sums < _LARGEST)).all()):
        return exponentials.mul_(sums.reciprocal_())
    return plain_softmax(scores, keep_mask)


def plain_softmax(scores: Tensor, keep_mask: Tensor | None) -> Tensor:
    """What `short_attention` takes for the weights of scores of any size."""
    if keep_mask is None:
        return scores.softmax(-1, at_least_float32(scores))
    weights = scores.masked_fill(~keep_mask, -torch.inf).softmax(-1, at_least_float32(scores))
    return torch.where(keep_mask, weights, 0.0)


class _Read(Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, keys: Tensor, values: Tensor, keep_mask: Tensor | None, dropout: float
    ) -> Tensor:
        weights = _softmax(query @ keys.mT, keep_mask)
        kept, dropped = None, weights
        if dropout:
            kept = kept_elements(weights, dropout)
            dropped = (weights * kept).mul_(1 / (1 - dropout))
        dropped = dropped.to(values.dtype)
        ctx.save_for_backward(query, keys, values, keep_mask, weights, kept, dropped)
        ctx.dropout = dropout
        return dropped @ values

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, values, keep_mask, weights, kept, dropped = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives: the saved weights have no history
            found = plain_softmax(query @ keys.mT, keep_mask)
            if kept is not None:
                found = found * kept / (1 - ctx.dropout)
            plain = found.to(values.dtype) @ values
            parts = torch.autograd.grad(plain, (query, keys, values), gradient, create_graph=True)
            return *parts, None, None
        gradient = gradient.contiguous()
        of_weights = (gradient @ values.mT).to(weights.dtype)
        if kept is not None:
            of_weights.mul_(kept).mul_(1 / (1 - ctx.dropout))
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_scores = of_scores.to(query.dtype)
        return of_scores @ keys, of_scores.mT @ query, dropped.mT @ gradient, None, None
