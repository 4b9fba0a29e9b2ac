"""A Neural Turing Machine's whole sequence on a CPU, with one backward pass by hand.

Step by step autograd calls 300 operations on a few numbers for each of them, whose time is that of calling
them. Here steps write into buffers without a graph; the backward pass goes back through them and takes one
product over all of them for each weight.

Shapes: T steps, B sequences, C channels, N locations of width M, R read and W write heads, H = R + W,
S = 2 D + 1 shifts, O outputs of the controller.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from zoo.kernels.controller_layers import (
    ControllerLayer,
    Ran,
    back_runner,
    no_gradients,
    prepared,
    runner,
    weight_gradients,
)
from zoo.kernels.memory_heads import SHARPEST, SHORTEST, TINY
from zoo.kernels.transforms import transformed


class Heads(NamedTuple):
    """What the heads are.

    Attributes:
        reading, writing: R and W.
        locations, width: N and M.
        shifts: S, at most 2 N - 1.
        first_memory: every number of the memory before the first step.
    """

    reading: int
    writing: int
    locations: int
    width: int
    shifts: int
    first_memory: float

    @property
    def total(self) -> int:
        """H."""
        return self.reading + self.writing

    @property
    def rows(self) -> int:
        """How many numbers the controller emits for the address of a head."""
        return self.width + 4 + self.shifts


def machine_runs(inputs: Tensor, weight: Tensor) -> bool:
    """Whether `run_machine` can read inputs `(B, T, C)` with such a weight, and a gradient may be wanted.

    Without a gradient nothing needs to be kept of the steps, which costs memory here.
    """
    return (
        inputs.device.type == weight.device.type == "cpu"
        and inputs.dtype == weight.dtype
        and inputs.dtype in (torch.float32, torch.float64)
        and inputs.numel() > 0
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
        and not transformed()
    )


def run_machine(
    heads: Heads,
    inputs: Tensor,
    reads: Tensor,
    weights: Tensor,
    emit: tuple[Tensor, Tensor],
    layers: Sequence[ControllerLayer],
) -> tuple[Tensor, Tensor]:
    """Equations 1 to 9 of Graves et al. 2014 for all steps.

    Args:
        heads: sizes.
        inputs: `(B, T, C)`.
        reads: `(R M,)`, what was read before the first step.
        weights: `(H, N)`, of all heads before the first step, those that read first.
        emit: weight and bias of what the controller's output gives: for each head the key, and before their
            activations the gate, the sharpness, two factors of the key strength and the shifts from D to -D,
            `(H, M + 4 + S)`; then the erase vectors before their activation, and the add vectors, `(2 W M,)`.
        layers: of the controller, which reads `[input; reads]`.

    Returns:
        The controller's outputs and reads `(B, T, O + R M)`, and the weights `(B, T, H, N)`.

    Raises:
        RuntimeError: a second derivative is asked for.
    """
    flat = [part for layer in layers for part in layer]
    states, found = _Machine.apply(heads, inputs, reads, weights, *emit, *flat)
    return states, found


class _Trace(NamedTuple):
    """What the heads computed; each has T as first axis.

    Attributes:
        memory: `(T + 1, B, N, M)`, the first before the first step.
        weights: `(T + 1, B, H, N)`, likewise.
        emitted: `(T, B, H (M + 4 + S) + 2 W M)`, see `run_machine`; gates and erase vectors activated.
        soft: `(T, B, H, 3)`, softplus: γ - 1 and the two factors of β.
        shifts: `(T, B, H, S)`, from D to -D.
        lengths: `(T, B, N + H)` of locations and keys; infinite for a vector without direction.
        scaled: `(T, B, H, N)`, products of keys and locations, divided by the length of the location.
        content: `(T, B, H, N)`, equation 5.
        around: `(T, B, H, N + 2 D)`, equation 7, with D locations more at either end of the ring.
        shifted: `(T, B, H, N)`, equation 8.
        logarithms: `(T, B, H, N)`, of it.
        kept: `(T, W, B, N, M)`, the share that each head leaves.
        erased: `(T, W - 1, B, N, M)`, the memory between the heads.
    """

    memory: Tensor
    weights: Tensor
    emitted: Tensor
    soft: Tensor
    shifts: Tensor
    lengths: Tensor
    scaled: Tensor
    content: Tensor
    around: Tensor
    shifted: Tensor
    logarithms: Tensor
    kept: Tensor
    erased: Tensor

    @classmethod
    def empty(cls, like: Tensor, steps: int, batch: int, heads: Heads) -> "_Trace":
        """Buffers."""
        count, locations, width, writing = heads.total, heads.locations, heads.width, heads.writing
        lead = (steps, batch, count)
        memory = like.new_empty(steps + 1, batch, locations, width)
        memory[0] = heads.first_memory
        return cls(
            memory,
            like.new_empty(steps + 1, batch, count, locations),
            like.new_empty(steps, batch, count * heads.rows + 2 * writing * width),
            like.new_empty(*lead, 3),
            like.new_empty(*lead, heads.shifts),
            like.new_empty(steps, batch, locations + count),
            like.new_empty(*lead, locations),
            like.new_empty(*lead, locations),
            like.new_empty(*lead, locations + heads.shifts - 1),
            like.new_empty(*lead, locations),
            like.new_empty(*lead, locations),
            like.new_empty(steps, writing, batch, locations, width),
            like.new_empty(steps, writing - 1, batch, locations, width),
        )


class _Emitted(NamedTuple):
    """The parts of what was emitted, or of its gradients; `(*, B, H, ...)`, `(*, B, W, M)`."""

    keys: Tensor
    gate: Tensor
    sharpness: Tensor
    strengths: Tensor
    shifts: Tensor
    erase: Tensor
    add: Tensor

    @classmethod
    def of(cls, addresses: Tensor, vectors: Tensor, heads: Heads) -> "_Emitted":
        """Views of `(*, B, H, M + 4 + S)` and `(*, B, 2 W M)`."""
        erase, add = vectors.unflatten(-1, (2, heads.writing, heads.width)).unbind(-3)
        sizes = [heads.width, 1, 1, 2, heads.shifts]
        keys, gate, sharpness, strengths, shifts = addresses.split(sizes, -1)
        return cls(keys, gate, sharpness, strengths, shifts, erase, add)


def _split(emitted: Tensor, heads: Heads) -> tuple[Tensor, Tensor]:
    size = heads.total * heads.rows
    return emitted[..., :size].unflatten(-1, (heads.total, heads.rows)), emitted[..., size:]


def _windows(around: Tensor, shifts: int) -> Tensor:
    """For each location those from D before to D behind it: `(*, B, H, N + 2 D)` to `(*, B H, N, S)`."""
    return around.flatten(-3, -2).unfold(-1, shifts, 1)


def _ends(around: Tensor, farthest: int) -> list[tuple[Tensor, Tensor]]:
    """Where the ring is cut: what to fill, and with what; views of all steps."""
    if not farthest:
        return []
    size = around.shape[-1]
    return [
        (around[..., :farthest], around[..., size - 2 * farthest : size - farthest]),
        (around[..., size - farthest :], around[..., farthest : 2 * farthest]),
    ]


def _views(*parts: Tensor) -> list[tuple[Tensor, ...]]:
    return list(zip(*(part.unbind() for part in parts), strict=True))


class _Address:
    """Equations 5 to 9: the weights of step `number` from what was emitted there."""

    def __init__(self, trace: _Trace, heads: Heads) -> None:
        self._sharpest = SHARPEST - 1
        locations, farthest = heads.locations, heads.shifts // 2
        addresses, vectors = _split(trace.emitted, heads)
        emitted = _Emitted.of(addresses, vectors, heads)
        lengths, (of_memory, of_keys) = trace.lengths, trace.lengths.split([locations, heads.total], -1)
        gated = trace.around[..., farthest : farthest + locations]
        to_soften, memory = addresses[..., heads.width + 1 : heads.width + 4], trace.memory[:-1]
        columns = [part.flatten(1, 2).unsqueeze(-1) for part in (trace.shifts, trace.shifted)]
        self._given = _views(memory, memory.mT, trace.weights[:-1], emitted.keys)
        self._activated = _views(
            *(emitted.gate, emitted.erase, to_soften, trace.soft, *trace.soft.split(1, -1)),
            *(emitted.shifts, trace.shifts, columns[0]),
        )
        self._lengths = _views(
            lengths, of_memory, of_memory.unsqueeze(-2), of_keys, of_keys.unsqueeze(-1), trace.scaled
        )
        self._weights = _views(
            *(trace.content, gated, _windows(trace.around, heads.shifts), trace.shifted, columns[1]),
            *(trace.logarithms, trace.weights[1:]),
        )
        pairs = _ends(trace.around, farthest)
        self._ends = list(zip(*(_views(*pair) for pair in pairs), strict=True)) or [()] * len(self._given)
        self._scores = torch.empty_like(trace.content[0])
        self._strength = torch.empty_like(emitted.gate[0])
        self._tiny = trace.memory.new_full((1, 1, 1), TINY)

    def __call__(self, number: int) -> None:
        memory, turned, last, keys = self._given[number]
        gate, erase, to_soften, soft, sharpness, first, second, shift_logits, shifts, shift_column = (
            self._activated[number]
        )
        lengths, of_memory, of_memory_row, of_keys, of_keys_column, scaled = self._lengths[number]
        content, gated, windows, shifted, shifted_column, logarithms, weights = self._weights[number]
        gate.sigmoid_()
        erase.sigmoid_()
        torch._C._nn.softplus(to_soften, out=soft)  # type: ignore[call-arg]
        sharpness.clamp_(max=self._sharpest)
        torch.softmax(shift_logits, -1, out=shifts)
        torch.linalg.vector_norm(memory, dim=-1, out=of_memory)
        torch.linalg.vector_norm(keys, dim=-1, out=of_keys)
        torch.threshold_(lengths, SHORTEST, torch.inf)
        torch.bmm(keys, turned, out=scaled)
        scaled.div_(of_memory_row)
        torch.mul(first, second, out=self._strength).div_(of_keys_column)
        torch.softmax(torch.mul(scaled, self._strength, out=self._scores), -1, out=content)
        torch.lerp(last, content, gate, out=gated)
        for place, source in self._ends[number]:
            place.copy_(source)
        torch.baddbmm(self._tiny, windows, shift_column, out=shifted_column)
        torch.log(shifted, out=logarithms)
        torch.addcmul(logarithms, logarithms, sharpness, out=self._scores)
        torch.softmax(self._scores, -1, out=weights)


class _Access:
    """Equations 2 to 4: what step `number` reads, and the memory for the next step."""

    def __init__(self, trace: _Trace, reads: Tensor, heads: Heads) -> None:
        reading, writing = trace.weights[1:].split([heads.reading, heads.writing], 2)
        emitted = _Emitted.of(*_split(trace.emitted, heads), heads)
        self._steps = _views(reading, trace.memory[:-1], reads, writing.mT, emitted.add, trace.memory[1:])
        parts = (writing.unsqueeze(-1), emitted.erase.unsqueeze(-2))
        columns = [part.unbind(2) for part in parts] + [trace.kept.unbind(1)]
        before, after = _between(trace)
        by_head = [_views(*head) for head in zip(*columns, before, after, strict=True)]
        self._erasing = list(zip(*by_head, strict=True))
        self._one = trace.memory.new_ones(1)

    def __call__(self, number: int) -> None:
        reading, memory, reads, writing, add, following = self._steps[number]
        torch.bmm(reading, memory, out=reads)
        for weight, erase, kept, before, after in self._erasing[number]:
            torch.addcmul(self._one, weight, erase, value=-1, out=kept)
            torch.mul(before, kept, out=after)
        torch.baddbmm(following, writing, add, out=following)


def _between(trace: _Trace) -> tuple[list[Tensor], list[Tensor]]:
    """For each writing head the memories of all steps before and after it erases."""
    between = list(trace.erased.unbind(1))
    return [trace.memory[:-1], *between], [*between, trace.memory[1:]]


class _Back:
    """Gradients of what the heads emitted at step `number`, from those of reads, weights and memory.

    Attributes:
        emitted: `(T, B, H (M + 4 + S) + 2 W M)`, filled by the steps.
        weights: `(B, H, N)`, of the weights before the last step taken.
    """

    def __init__(self, trace: _Trace, of_reads: Tensor, of_found: Tensor | None, heads: Heads) -> None:
        locations, farthest = heads.locations, heads.shifts // 2
        reading, writing = trace.weights[1:].split([heads.reading, heads.writing], 2)
        parts = _Emitted.of(*_split(trace.emitted, heads), heads)
        of_memory, of_keys = trace.lengths.split([locations, heads.total], -1)
        of_memory, of_keys = of_memory.unsqueeze(-2), of_keys.unsqueeze(-1)
        # All that multiplies gradients and does not depend on them: not in the loop.
        first, second = trace.soft[..., 1:2], trace.soft[..., 2:]
        strength = first * second / of_keys
        slopes = torch.ones_like(trace.emitted)
        slope = _Emitted.of(*_split(slopes, heads), heads)
        slope.gate.copy_(parts.gate * (1 - parts.gate))
        slope.sharpness.copy_(parts.sharpness.sigmoid() * (trace.soft[..., :1] < SHARPEST - 1))
        torch.mul(
            parts.strengths.sigmoid(),
            torch.cat([second, first], -1) * parts.gate / of_keys,
            out=slope.strengths,
        )
        slope.erase.copy_(parts.erase * (parts.erase - 1))
        by_power = (1 + trace.soft[..., :1]) / trace.shifted
        by_key = parts.keys * (-strength * parts.gate / of_keys.square())
        moved = (trace.content - trace.weights[:-1]).flatten(1, 2).unsqueeze(-1)
        scaled = trace.scaled.flatten(1, 2).unsqueeze(-1).expand(-1, -1, -1, 2)

        self.emitted = torch.empty_like(trace.emitted)
        memory = trace.memory[:-1]
        self._access = _views(memory, memory.mT, reading.mT, writing, parts.keys, parts.add, of_reads)
        self._location = _views(
            *(trace.weights[1:], trace.logarithms.flatten(1, 2).unsqueeze(-1), by_power),
            *(_windows(trace.around, heads.shifts), trace.shifts),
            *(trace.shifts.flip(-1).flatten(1, 2).unsqueeze(-1), moved, 1 - parts.gate),
        )
        self._content = _views(
            trace.content, scaled, strength * parts.gate / of_memory, -trace.scaled / of_memory, by_key
        )
        self._slopes = _views(*_split(slopes, heads), *_split(self.emitted, heads))
        self._of_found = None if of_found is None else of_found.unbind(1)
        before, _ = _between(trace)
        columns = (writing.split(1, 2), parts.erase.split(1, 2), trace.kept.unbind(1), before)
        by_head = [_views(*head) for head in zip(*columns, strict=True)]
        self._erasing = list(zip(*by_head, strict=True))

        # Gradients of one step at a time: `_of_memory` and `weights` go from one to the step before.
        self.weights = torch.zeros_like(trace.weights[0])
        self._of_memory = torch.zeros_like(trace.memory[0])
        self._of_weights = self.weights.split([heads.reading, heads.writing], 1)
        self._of_writing = self._of_weights[1].split(1, 1)
        self._product = torch.empty_like(self._of_memory)
        self._power = torch.empty_like(self.weights)
        around = torch.empty_like(trace.around[0])
        self._of_shifted = around[..., farthest : farthest + locations]
        self._around_windows = _windows(around, heads.shifts)
        self._around_ends = _ends(around, farthest)
        self._of_probabilities = torch.empty_like(trace.shifts[0])
        self._gated = torch.empty_like(self.weights)
        self._scores = torch.empty_like(self.weights)
        (
            self._power_row,
            self._of_shifted_row,
            self._of_probabilities_row,
            self._gated_row,
            self._scores_row,
        ) = (
            part.flatten(0, 1).unsqueeze(1)
            for part in (self._power, self._of_shifted, self._of_probabilities, self._gated, self._scores)
        )
        # Before the slopes of activations.
        self._addresses = trace.memory.new_empty(len(self.weights), heads.total, heads.rows)
        self._vectors = torch.empty_like(self.emitted[0, :, heads.total * heads.rows :])
        self._raw = _Emitted.of(self._addresses, self._vectors, heads)
        self._raw_erase = self._raw.erase.split(1, 1)
        flat = self._addresses.flatten(0, 1).unsqueeze(1)
        self._flat = flat.split([heads.width, 1, 1, 2, heads.shifts], -1)

    def __call__(self, number: int) -> None:
        memory, turned, reading, writing, keys, add, of_reads = self._access[number]
        weights, logarithms, by_power, windows, shifts, reversed_shifts, moved, kept_share = self._location[
            number
        ]
        content, scaled, by_scores, by_lengths, by_key = self._content[number]
        address_slopes, vector_slopes, of_addresses, of_vectors = self._slopes[number]
        raw, of_memory, of_weights = self._raw, self._of_memory, self.weights
        _, of_gate, of_sharpness, of_strengths, _ = self._flat
        of_reading, of_writing = self._of_weights
        # Equations 4 and 3.
        torch.bmm(writing, of_memory, out=raw.add)
        torch.baddbmm(of_writing, add, of_memory.mT, out=of_writing)
        for of_one, of_erase, (weight, erase, kept, before) in zip(
            reversed(self._of_writing),
            reversed(self._raw_erase),
            reversed(self._erasing[number]),
            strict=True,
        ):
            torch.mul(of_memory, before, out=self._product)
            torch.bmm(weight, self._product, out=of_erase)
            torch.baddbmm(of_one, erase, self._product.mT, alpha=-1, out=of_one)
            of_memory.mul_(kept)
        # Equation 2.
        torch.baddbmm(of_reading, of_reads, turned, out=of_reading)
        torch.baddbmm(of_memory, reading, of_reads, out=of_memory)
        if self._of_found is not None:
            of_weights.add_(self._of_found[number])
        # Equations 9 to 7.
        torch._softmax_backward_data(of_weights, weights, -1, weights.dtype, grad_input=self._power)
        torch.bmm(self._power_row, logarithms, out=of_sharpness)
        torch.mul(self._power, by_power, out=self._of_shifted)
        for place, source in self._around_ends:
            place.copy_(source)
        torch.bmm(self._of_shifted_row, windows, out=self._of_probabilities_row)
        # Into a row of many numbers torch would write it wrongly.
        raw.shifts.copy_(torch._softmax_backward_data(self._of_probabilities, shifts, -1, shifts.dtype))
        torch.bmm(self._around_windows, reversed_shifts, out=self._gated_row.mT)
        torch.bmm(self._gated_row, moved, out=of_gate)
        torch.mul(self._gated, kept_share, out=of_weights)
        # Equations 6 and 5; the gate is a part of the factors.
        torch._softmax_backward_data(self._gated, content, -1, content.dtype, grad_input=self._scores)
        torch.bmm(self._scores_row, scaled, out=of_strengths)
        products = self._scores.mul_(by_scores)
        lengthened = (products * by_lengths).sum(1).unsqueeze(-1)
        torch.bmm(products, memory, out=raw.keys)
        raw.keys.addcmul_(raw.strengths[..., :1], by_key)
        torch.baddbmm(of_memory, products.mT, keys, out=of_memory)
        of_memory.addcmul_(memory, lengthened)
        torch.mul(self._addresses, address_slopes, out=of_addresses)
        torch.mul(self._vectors, vector_slopes, out=of_vectors)


class _Machine(Function):
    @staticmethod
    def forward(
        ctx: Any,
        heads: Heads,
        inputs: Tensor,
        reads: Tensor,
        weights: Tensor,
        emit: Tensor,
        emit_bias: Tensor,
        *flat: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        layers = _layers(flat)
        known, (batch, steps) = inputs.transpose(0, 1), inputs.shape[:2]
        trace = _Trace.empty(inputs, steps, batch, heads)
        trace.weights[0] = weights
        ran = [
            prepared(layer, None if number else known, steps, batch) for number, layer in enumerate(layers)
        ]
        read = ran[0].given[..., : len(reads)]
        read[0] = reads
        run_layers = [
            runner(layer, one, above.given[:-1, :, : one.outputs.shape[-1]] if above else None)
            for layer, one, above in zip(layers, ran, [*ran[1:], None], strict=True)
        ]
        address = _Address(trace, heads)
        access = _Access(trace, read[1:].unflatten(-1, (heads.reading, heads.width)), heads)
        outputs, turned = ran[-1].outputs, emit.t()
        for number, (output, emitted) in enumerate(_views(outputs, trace.emitted)):
            for run in run_layers:
                run(number)
            torch.addmm(emit_bias, output, turned, out=emitted)
            address(number)
            access(number)
        ctx.heads, ctx.layers = heads, len(layers)
        ctx.set_materialize_grads(False)  # as a rule the weights have none
        ctx.save_for_backward(inputs, emit, *flat, *trace, *(part for one in ran for part in one))
        states = torch.cat([outputs, read[1:]], -1).transpose(0, 1)
        return states, trace.weights[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor | None, of_found: Tensor | None) -> tuple[Tensor | None, ...]:
        heads: Heads = ctx.heads
        inputs, emit, *saved = ctx.saved_tensors
        layers = _layers(saved[: 3 * ctx.layers])
        saved = saved[3 * ctx.layers :]
        trace, saved = _Trace(*saved[: len(_Trace._fields)]), saved[len(_Trace._fields) :]
        size = len(Ran._fields)
        ran = [Ran(*saved[start : start + size]) for start in range(0, len(saved), size)]
        known = inputs.transpose(0, 1)
        of_ran = [no_gradients(one) for one in ran]
        of_outputs = of_ran[-1].outputs
        of_read = of_ran[0].given[..., : heads.reading * heads.width]
        if of_states is not None:
            parts = of_states.transpose(0, 1).split([of_outputs.shape[-1], of_read.shape[-1]], -1)
            of_outputs.copy_(parts[0])
            of_read[1:].copy_(parts[1])
        back = _Back(trace, of_read[1:].unflatten(-1, (heads.reading, heads.width)), of_found, heads)
        back_layers = [back_runner(*one) for one in zip(layers, ran, of_ran, strict=True)]
        for number, (of_output, of_emitted) in reversed(list(enumerate(_views(of_outputs, back.emitted)))):
            back(number)
            torch.addmm(of_output, of_emitted, emit, out=of_output)
            for layer in reversed(range(len(layers))):
                back_layers[layer](number)
                if layer:
                    of_below = of_ran[layer - 1].outputs[number]
                    of_below.add_(of_ran[layer].given[number, :, : of_below.shape[-1]])
        of_emitted = back.emitted.flatten(0, 1)
        of_layers = [
            weight_gradients(layer, None if number else known, one, of_one)
            for number, (layer, one, of_one) in enumerate(zip(layers, ran, of_ran, strict=True))
        ]
        of_inputs = None
        if ctx.needs_input_grad[1]:
            of_inputs = (of_ran[0].gates @ layers[0].weight[:, : inputs.shape[-1]]).transpose(0, 1)
        return (
            *(None, of_inputs, of_read[0].sum(0), back.weights.sum(0)),
            *(of_emitted.t() @ ran[-1].outputs.flatten(0, 1), of_emitted.sum(0)),
            *(part for one in of_layers for part in one),
        )


def _layers(flat: Sequence[Any]) -> list[ControllerLayer]:
    return [ControllerLayer(*flat[start : start + 3]) for start in range(0, len(flat), 3)]
