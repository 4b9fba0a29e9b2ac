"""Recurrent layers over sequences of unequal length, in several directions at once.

On a CPU torch reads such a batch either padded, and computes as much for padding as for words, or packed, as
a graph of many small operations. Here step t reads only the sequences that have a t-th word, in all
directions at once, without a graph: the backward pass goes back through the steps and then takes one product
over all of them for each weight.

Shapes: B sequences, T words in the longest, N words in all, D directions, I features of an input, H of a
state, G = 4 H (LSTM) or 3 H (GRU) of the gates.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from zoo.kernels.skip_padding import select
from zoo.kernels.transforms import transformed


class Weights(NamedTuple):
    """Of one direction, in the order of gates and of parameters that `torch.nn.LSTM` and `GRU` have.

    Attributes:
        of_input: `(G, I)`.
        of_state: `(G, H)`.
        input_bias, state_bias: `(G,)`.
    """

    of_input: Tensor
    of_state: Tensor
    input_bias: Tensor
    state_bias: Tensor


PackedReader = Callable[[Tensor, Tensor, Sequence[Weights], Sequence[bool]], tuple[Tensor, Tensor]]
"""`packed_lstm` or `packed_gru`."""

_MOST_WORDS = 0.75
"""With a larger share of words among all positions, torch's own layers are as fast."""


def packing_pays(inputs: Tensor, lengths: Tensor) -> bool:
    """Whether padded inputs `(B, T, I)` can be read here, and faster than by torch."""
    return (
        inputs.device.type == "cpu"
        and not torch.compiler.is_compiling()
        and inputs.dtype in (torch.float32, torch.float64)
        and not torch.is_autocast_enabled("cpu")
        and not transformed()
        and int(lengths.min()) > 0
        and int(lengths.sum()) <= _MOST_WORDS * inputs.shape[0] * inputs.shape[1]
    )


def packed_lstm(
    inputs: Tensor, lengths: Tensor, directions: Sequence[Weights], from_end: Sequence[bool]
) -> tuple[Tensor, Tensor]:
    """Reads sequences with one LSTM for each direction.

    Args:
        inputs: `(B, T, I)`; what stands behind the end of a sequence is not read.
        lengths: `(B,)` words in each sequence, from 1 on.
        directions: the weights of each.
        from_end: for each direction, whether it begins with the last word.

    Returns:
        The states `(B, T, D H)`, zeros behind the end, and the states behind the last word read `(B, D H)`.

    Raises:
        RuntimeError: a second derivative is asked for.
    """
    read: tuple[Tensor, Tensor] = _Read.apply(_LSTM, inputs, lengths, from_end, *_flat(directions))
    return read


def packed_gru(
    inputs: Tensor, lengths: Tensor, directions: Sequence[Weights], from_end: Sequence[bool]
) -> tuple[Tensor, Tensor]:
    """Reads sequences with one GRU for each direction; see `packed_lstm`."""
    read: tuple[Tensor, Tensor] = _Read.apply(_GRU, inputs, lengths, from_end, *_flat(directions))
    return read


def _flat(directions: Sequence[Weights]) -> list[Tensor]:
    return [weight for direction in directions for weight in direction]


class _Packing(NamedTuple):
    """The order in which words are read: step by step, and within a step the longest sequence first.

    Attributes:
        counts: words of each step.
        places: `(D, N)`, where among the `B T` padded positions each direction finds its words.
        back: `(D, B T)`, where in the order of each direction a position stands; N: it is padding.
        before: `(N - B,)`, where the state before each word stands, from the second step on.
        last: `(B,)`, where the state behind each sequence stands.
    """

    counts: list[int]
    places: Tensor
    back: Tensor
    before: Tensor
    last: Tensor


def _pack(lengths: Tensor, longest: int, from_end: Sequence[bool]) -> _Packing:
    order = lengths.argsort(descending=True, stable=True)
    ordered = lengths[order]
    there = torch.arange(int(ordered[0]))[:, None] < ordered
    step, row = there.nonzero(as_tuple=True)
    counts = there.sum(1)
    first = counts.cumsum(0) - counts
    start = order[row] * longest
    places = torch.stack([start + (ordered[row] - 1 - step if backward else step) for backward in from_end])
    back = torch.full((len(from_end), len(lengths) * longest), len(step))
    back.scatter_(1, places, torch.arange(len(step)).expand_as(places))
    last = torch.empty_like(order)
    last[order] = first[ordered - 1] + torch.arange(len(order))
    later = step > 0
    return _Packing(counts.tolist(), places, back, first[step[later] - 1] + row[later], last)


class _Cell(Protocol):
    """What differs between LSTM and GRU."""

    @staticmethod
    def run(gates: Tensor, weights: Sequence[Tensor], bias: Tensor, counts: list[int]) -> tuple[Tensor, ...]:
        """The states `(D, N, H)`, and what the backward pass needs.

        Args:
            gates: `(D, N, G)`, of the inputs; activated in place.
            weights: W of the states, `(H, G)` for each direction.
            bias: of the states, `(D, 1, G)`.
            counts: words of each step.
        """

    @staticmethod
    def back(
        gradient: Tensor,
        saved: Sequence[Tensor],
        weights: Sequence[Tensor],
        before: Tensor,
        counts: list[int],
    ) -> tuple[Tensor, Tensor]:
        """Gradients `(D, N, G)` of the products of inputs, and of states, with their weights.

        Args:
            gradient: of the states, `(D, N, H)`; overwritten.
            saved: what `run` returned.
            weights: W of the states, `(G, H)` for each direction.
            before: see `_Packing`.
            counts: words of each step.
        """


class _LSTM:
    @staticmethod
    def run(gates: Tensor, weights: Sequence[Tensor], bias: Tensor, counts: list[int]) -> tuple[Tensor, ...]:
        size = gates.shape[-1] // 4
        gates += bias
        hidden, cells, bent = (gates.new_empty(*gates.shape[:2], size) for _ in range(3))
        last_hidden, last_cell = hidden, cells  # not read in the first step
        columns = (gates, gates[..., : 2 * size], *gates.split(size, -1), hidden, cells, bent)
        for number, step in enumerate(zip(*(column.split(counts, 1) for column in columns), strict=True)):
            gate, first_two, read, keep, new, write, state, cell, tanh = step
            if number:
                _add_products(gate, last_hidden[:, : gate.shape[1]], weights)
            first_two.sigmoid_()
            torch.mul(read, new.tanh_(), out=cell)
            if number:
                cell.addcmul_(keep, last_cell[:, : gate.shape[1]])
            torch.mul(write.sigmoid_(), torch.tanh(cell, out=tanh), out=state)
            last_hidden, last_cell = state, cell
        return hidden, gates, cells, bent

    @staticmethod
    def back(
        gradient: Tensor,
        saved: Sequence[Tensor],
        weights: Sequence[Tensor],
        before: Tensor,
        counts: list[int],
    ) -> tuple[Tensor, Tensor]:
        _, gates, cells, bent = saved
        read, keep, new, write = gates.chunk(4, -1)
        # All that multiplies the gradients of cells and states does not depend on them: not in the loop.
        by_cell = torch.stack([new * read * (1 - read), keep * (1 - keep), read * (1 - new * new)], 2)
        by_cell[:, :, 1] *= _earlier(cells, before)
        shown = bent * write
        of_write, of_cell = shown * (1 - write), write - shown * bent
        of_gates = torch.empty_like(gates)
        columns = (gradient, keep, by_cell, of_write, of_cell, of_gates)
        columns += of_gates.unflatten(-1, (4, -1)).split([3, 1], 2)
        steps = list(zip(*(column.split(counts, 1) for column in columns), strict=True))
        of_later = torch.zeros_like(steps[0][0])
        for number in reversed(range(len(counts))):
            of_hidden, kept, factor, to_write, to_cell, of_gate, of_three, of_fourth = steps[number]
            cell = of_later[:, : counts[number]].addcmul_(of_hidden, to_cell)
            torch.mul(cell.unsqueeze(2), factor, out=of_three)
            torch.mul(of_hidden, to_write, out=of_fourth.squeeze(2))
            if number:
                cell *= kept
                _add_products(steps[number - 1][0][:, : counts[number]], of_gate, weights)
        return of_gates, of_gates


class _GRU:
    @staticmethod
    def run(gates: Tensor, weights: Sequence[Tensor], bias: Tensor, counts: list[int]) -> tuple[Tensor, ...]:
        size = gates.shape[-1] // 3
        of_states = bias.expand_as(gates).contiguous()
        hidden = gates.new_empty(*gates.shape[:2], size)
        both = [2 * size, size]
        columns = (of_states, *of_states.split(both, -1), *gates.split(both, -1), *gates.split(size, -1)[:2])
        columns += (hidden,)
        last = hidden.new_zeros(len(gates), counts[0], size)
        for number, step in enumerate(zip(*(column.split(counts, 1) for column in columns), strict=True)):
            product, of_two, of_new, two, new, reset, update, state = step
            last = last[:, : product.shape[1]]
            if number:
                _add_products(product, last, weights)
            two.add_(of_two).sigmoid_()
            new.addcmul_(reset, of_new).tanh_()
            last = torch.lerp(new, last, update, out=state)
        return hidden, gates, of_states

    @staticmethod
    def back(
        gradient: Tensor,
        saved: Sequence[Tensor],
        weights: Sequence[Tensor],
        before: Tensor,
        counts: list[int],
    ) -> tuple[Tensor, Tensor]:
        hidden, gates, of_states = saved
        reset, update, new = gates.chunk(3, -1)
        # All that multiplies the gradient of a state does not depend on it: not in the loop.
        to_new = (1 - update) * (1 - new * new)
        to_reset = to_new * of_states.chunk(3, -1)[2] * reset * (1 - reset)
        to_update = (_earlier(hidden, before) - new) * update * (1 - update)
        factors = torch.stack([to_reset, to_update, to_new * reset], 2)
        of_products = torch.empty_like(gates)
        columns = (gradient, update, factors, of_products, of_products.unflatten(-1, (3, -1)))
        steps = list(zip(*(column.split(counts, 1) for column in columns), strict=True))
        for number in reversed(range(len(counts))):
            of_hidden, kept, factor, of_product, of_three = steps[number]
            torch.mul(of_hidden.unsqueeze(2), factor, out=of_three)
            if number:
                earlier = steps[number - 1][0][:, : counts[number]].addcmul_(of_hidden, kept)
                _add_products(earlier, of_product, weights)
        of_gates = of_products.clone()
        torch.mul(gradient, to_new, out=of_gates.chunk(3, -1)[2])
        return of_gates, of_products


def _add_products(sums: Tensor, factors: Tensor, weights: Sequence[Tensor]) -> None:
    """Adds `(D, n, F)` times each direction's weights. A batched product takes longer for few rows."""
    for total, factor, weight in zip(sums.unbind(), factors.unbind(), weights, strict=True):
        total.addmm_(factor, weight)


def _earlier(states: Tensor, before: Tensor) -> Tensor:
    """The state before each word, `(D, N, H)`; zeros before the first one."""
    first = states.shape[1] - len(before)
    return torch.cat(
        [states.new_zeros(len(states), first, states.shape[2]), states.index_select(1, before)], 1
    )


class _Read(Function):
    @staticmethod
    def forward(
        ctx: Any, cell: _Cell, inputs: Tensor, lengths: Tensor, from_end: Sequence[bool], *flat: Tensor
    ) -> tuple[Tensor, Tensor]:
        directions = [Weights(*flat[number : number + 4]) for number in range(0, len(flat), 4)]
        of_input, of_state, input_bias, state_bias = zip(*directions, strict=True)
        packing = _pack(lengths, inputs.shape[1], from_end)
        words = inputs.flatten(0, 1).index_select(0, packing.places[0])
        product = torch.addmm(torch.cat(input_bias), words, torch.cat(of_input).t())
        in_first = packing.back[0][packing.places]
        columns = product.chunk(len(directions), 1)
        gates = torch.stack([part.index_select(0, at) for part, at in zip(columns, in_first, strict=True)])
        del product, columns
        turned = [weight.t().contiguous() for weight in of_state]
        saved = cell.run(gates, turned, torch.stack(state_bias)[:, None], packing.counts)
        states = torch.cat([select(part, at) for part, at in zip(saved[0], packing.back, strict=True)], 1)
        ctx.save_for_backward(words, *saved, *of_input, *of_state)
        ctx.cell, ctx.packing, ctx.shape = cell, packing, inputs.shape
        ctx.set_materialize_grads(False)  # many readers use either states or last ones
        last = saved[0].index_select(1, packing.last).transpose(0, 1)
        return states.view(*inputs.shape[:2], -1), last.flatten(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor | None, of_last: Tensor | None) -> tuple[Tensor | None, ...]:
        packing: _Packing = ctx.packing
        count = len(packing.places)
        words, *saved = ctx.saved_tensors
        of_input, of_state = saved[-2 * count : -count], saved[-count:]
        hidden = saved[0]
        if of_states is None:
            gradient = torch.zeros_like(hidden)
        else:
            parts = of_states.flatten(0, 1).chunk(count, 1)
            gradient = torch.stack(
                [part.index_select(0, place) for part, place in zip(parts, packing.places, strict=True)]
            )
        if of_last is not None:
            gradient.index_add_(1, packing.last, of_last.unflatten(1, (count, -1)).transpose(0, 1))
        of_gates, of_products = ctx.cell.back(
            gradient, saved[: -2 * count], of_state, packing.before, packing.counts
        )
        first = packing.counts[0]
        earlier = hidden.index_select(1, packing.before)
        weights = [part[first:].t() @ state for part, state in zip(of_products, earlier, strict=True)]
        # In the order of the first direction, as the words are.
        flat = torch.cat(
            [
                part.index_select(0, at[packing.places[0]])
                for part, at in zip(of_gates, packing.back, strict=True)
            ],
            1,
        )
        inputs = None
        if ctx.needs_input_grad[1]:
            inputs = select(flat @ torch.cat(of_input), packing.back[0]).view(ctx.shape)
        by_direction = zip(
            (flat.t() @ words).chunk(count), weights, of_gates.sum(1), of_products.sum(1), strict=True
        )
        return None, inputs, None, None, *(gradient for direction in by_direction for gradient in direction)
