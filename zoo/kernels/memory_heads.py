"""A step of a Neural Turing Machine, with gradients by hand: LSTM, addressing, writing.

It is many operations on few numbers, whose time is that of calling them; by hand the gradients take fewer.

Shapes: B sequences, K keys or locations, M their width, D the farthest shift.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function
from torch.nn import functional

from zoo.kernels.transforms import transformed

SHARPEST = 1000.0
"""The largest γ, whose product with the gradient of such a logarithm float32 still holds."""
TINY = 1e-30
"""Added to weights before their logarithm, whose gradient at 0 is infinite."""
SHORTEST = 1e-6
"""The shortest vector that has a direction."""


def shifted_focus(content: Tensor, last: Tensor, given: Tensor) -> Tensor:
    """Equations 7 to 9 of Graves et al. 2014: interpolation, shift around the ring of keys, sharpening.

    Args:
        content: `(*lead, K)`, the weights by content.
        last: `(*lead, K)`, the weights of the last step.
        given: `(*lead, 2D + 3)`, the gate, the sharpness and the shifts before their activations; D < K.

    Returns:
        `(*lead, K)`.
    """
    if transformed():
        return _shifted_focus(content, last, given)
    weights: Tensor = _ShiftedFocus.apply(content, last, given)
    return weights


def written(memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    """Equations 3 and 4 of Graves et al. 2014: the memory after W heads wrote.

    - (3) erase: `M̃_t(i) = M_{t-1}(i) [1 - w_t(i) e_t]`, head after head
    - (4) add: `M_t(i) = M̃_t(i) + Σ w_t(i) a_t`

    Args:
        memory: `(B, K, M)`.
        weights: `(B, W, K)`.
        erase: e, `(B, W, M)`.
        add: a, `(B, W, M)`.
    """
    if transformed():
        return _written(memory, weights, erase, add)[0]
    changed: Tensor = _Written.apply(memory, weights, erase, add)
    return changed


def _activated(given: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gate, sharpness γ and the distribution over shifts."""
    sharpness = (1 + functional.softplus(given[..., 1:2])).clamp(max=SHARPEST)
    return given[..., :1].sigmoid(), sharpness, given[..., 2:].softmax(-1)


def _around(weights: Tensor, farthest: int) -> Tensor:
    """The ring of keys cut open, with D keys more at either end, `(*lead, K + 2D)`."""
    ends = [weights[..., weights.shape[-1] - farthest :], weights, weights[..., :farthest]]
    return torch.cat(ends, -1)


def _moved(weights: Tensor, shifts: Tensor) -> Tensor:
    """Equation 8: weights `(*lead, K)` by the probabilities of shifts by -D ... D, `(*lead, 2D + 1)`."""
    taps = shifts.shape[-1]
    around, count = _around(weights, taps // 2), weights.shape[-1]
    moved = around[..., taps - 1 :] * shifts[..., :1]
    for tap in range(1, taps):
        first = taps - 1 - tap
        moved = torch.addcmul(moved, around[..., first : first + count], shifts[..., tap : tap + 1])
    return moved


def _shifted_focus(content: Tensor, last: Tensor, given: Tensor) -> Tensor:
    gate, sharpness, shifts = _activated(given)
    shifted = _moved(torch.lerp(last, content, gate), shifts)
    # As a softmax of logarithms the power neither underflows nor has an infinite gradient.
    return (sharpness * (shifted + TINY).log()).softmax(-1)


class _ShiftedFocus(Function):
    @staticmethod
    def forward(ctx: Any, content: Tensor, last: Tensor, given: Tensor) -> Tensor:
        gate, sharpness, shifts = _activated(given)
        gated = torch.lerp(last, content, gate)
        shifted = _moved(gated, shifts).add_(TINY)
        logarithms = shifted.log()
        weights = (sharpness * logarithms).softmax(-1)
        ctx.save_for_backward(content, last, given, weights)
        ctx.inner = gate, sharpness, shifts, gated, shifted, logarithms
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        content, last, given, weights = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives: the inner values have no history
            plain = _shifted_focus(content, last, given)
            return torch.autograd.grad(plain, (content, last, given), gradient, create_graph=True)
        gate, sharpness, shifts, gated, shifted, logarithms = ctx.inner
        of_power = torch._softmax_backward_data(gradient, weights, -1, weights.dtype)
        of_sharpness = (of_power * logarithms).sum(-1, keepdim=True)
        of_shifted = of_power.mul_(sharpness).div_(shifted)
        of_gated = _moved(of_shifted, shifts.flip(-1))
        windows = _around(of_shifted, shifts.shape[-1] // 2).unfold(-1, shifts.shape[-1], 1)
        of_shifts = (gated.unsqueeze(-2) @ windows).squeeze(-2)
        of_gate = (of_gated * (content - last)).sum(-1, keepdim=True)
        of_content = of_gated * gate
        below = (sharpness < SHARPEST).to(given.dtype)
        of_given = [
            of_gate * gate * (1 - gate),
            of_sharpness * given[..., 1:2].sigmoid() * below,
            torch._softmax_backward_data(of_shifts, shifts, -1, shifts.dtype),
        ]
        return of_content, of_gated - of_content, torch.cat(of_given, -1)


def _written(
    memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """The memory, and before each head's erasing the memory and the head's weights `(B, K, 1)`."""
    before = []
    for weight, vector in zip(weights.unsqueeze(-1).unbind(1), erase.unsqueeze(-2).unbind(1), strict=True):
        before.append((memory, weight))
        memory = torch.addcmul(memory, memory * weight, vector, value=-1)
    return torch.baddbmm(memory, weights.mT, add), before


class _Written(Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
        changed, ctx.before = _written(memory, weights, erase, add)
        ctx.save_for_backward(memory, weights, erase, add)
        return changed

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        memory, weights, erase, add = ctx.saved_tensors
        if torch.is_grad_enabled():
            plain = _written(memory, weights, erase, add)[0]
            return torch.autograd.grad(plain, (memory, weights, erase, add), gradient, create_graph=True)
        of_add, of_weights = weights @ gradient, add @ gradient.mT
        of_erase, of_erasing = [], []
        for head in reversed(range(weights.shape[1])):
            before, weight = ctx.before[head]
            product, vector = gradient * before, erase[:, head : head + 1]
            of_erase.append(weights[:, head : head + 1] @ product)
            of_erasing.append(vector @ product.mT)
            gradient = torch.addcmul(gradient, gradient * weight, vector, value=-1)
        return (
            gradient,
            of_weights - torch.cat(of_erasing[::-1], 1),
            -torch.cat(of_erase[::-1], 1),
            of_add,
        )


def cosine(queries: Tensor, keys: Tensor) -> Tensor:
    """Equation 6 of Graves et al. 2014: `cos(q, k)`, 0 where either is shorter than 1e-6.

    Args:
        queries: `(B, Q, M)`.
        keys: `(B, K, M)`.

    Returns:
        `(B, Q, K)`.
    """
    if transformed():
        return _cosine(queries, keys)[0]
    cosines: Tensor = _Cosine.apply(queries, keys)
    return cosines


def _cosine(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Cosines, directions of the queries, and the inverse lengths `(B, Q, 1)` and `(B, 1, K)`."""
    of_queries, of_keys = (
        torch.where(length < SHORTEST, 0.0, 1 / length.clamp(min=SHORTEST))
        for length in (_length(queries), _length(keys).mT)
    )
    directions = queries * of_queries
    return directions @ keys.mT * of_keys, directions, of_queries, of_keys


def _length(vectors: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return length


class _Cosine(Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor) -> Tensor:
        cosines, *ctx.inner = _cosine(queries, keys)
        ctx.save_for_backward(queries, keys, cosines)
        return cosines

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        queries, keys, cosines = ctx.saved_tensors
        if torch.is_grad_enabled():
            plain = _cosine(queries, keys)[0]
            return torch.autograd.grad(plain, (queries, keys), gradient, create_graph=True)
        directions, of_queries, of_keys = ctx.inner
        scaled = gradient * of_keys
        along = (scaled * cosines).sum(1, keepdim=True) * of_keys  # what only lengthens a key
        of_directions = scaled @ keys
        across = of_directions - directions * (directions * of_directions).sum(-1, keepdim=True)
        return across * of_queries, torch.addcmul(scaled.mT @ directions, keys, along.mT, value=-1)


def lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The output and the next cell of an LSTM.

    Args:
        gates: `(B, 4 D)`, input gate, forget gate, candidate and output gate before their activations, in
            the order of `torch.nn.LSTMCell`.
        cell: `(B, D)`.
    """
    if transformed():
        output, following, *_ = _lstm_cell(gates, cell)
        return output, following
    output, following = _LSTMCell.apply(gates, cell)
    return output, following


def _lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    """The output, the next cell, the open gates, the candidate, and the tanh of the next cell."""
    opened = gates.sigmoid()
    entering, kept, _, leaving = opened.chunk(4, -1)
    candidate = gates.chunk(4, -1)[2].tanh()
    following = torch.addcmul(kept * cell, entering, candidate)
    shown = following.tanh()
    return leaving * shown, following, opened, candidate, shown


class _LSTMCell(Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        output, following, *ctx.inner = _lstm_cell(gates, cell)
        ctx.save_for_backward(gates, cell)
        return output, following

    @staticmethod
    def backward(ctx: Any, of_output: Tensor, of_following: Tensor) -> tuple[Tensor, ...]:
        gates, cell = ctx.saved_tensors
        if torch.is_grad_enabled():
            plain = _lstm_cell(gates, cell)[:2]
            return torch.autograd.grad(plain, (gates, cell), (of_output, of_following), create_graph=True)
        opened, candidate, shown = ctx.inner
        entering, kept, _, leaving = opened.chunk(4, -1)
        of_following = of_following + torch.ops.aten.tanh_backward(of_output * leaving, shown)
        of_candidate = torch.ops.aten.tanh_backward(of_following * entering, candidate)
        of_opened = [of_following * candidate, of_following * cell, of_candidate, of_output * shown]
        of_gates = torch.ops.aten.sigmoid_backward(torch.cat(of_opened, -1), opened)
        of_gates.chunk(4, -1)[2].copy_(of_candidate)
        return of_gates, of_following * kept
