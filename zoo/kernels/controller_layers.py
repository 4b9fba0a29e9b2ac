"""The layers of a Neural Turing Machine's controller, step by step and back, without a graph.

Part of `zoo.kernels.memory_machine`.

Shapes: T steps, B sequences, D outputs of a layer, G rows of its weight.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class ControllerLayer(NamedTuple):
    """The weights of an LSTM, or of a layer `tanh(W x + b)`.

    Attributes:
        weight: `(G, I + D)` of an LSTM, for `[input; last output]`, with the gates in the order of
            `torch.nn.LSTMCell`; `(D, I)` of the other.
        bias: `(G,)`.
        start: `(2, D)`, the first output and cell of an LSTM; None of the other.
    """

    weight: Tensor
    bias: Tensor
    start: Tensor | None


class Ran(NamedTuple):
    """What a layer read and computed.

    Attributes:
        given: `(T + 1, B, I')`: what only the steps before can tell, at the end the last output of an LSTM.
        gates: `(T, B, G)`, activated.
        outputs: `(T, B, D)`, of an LSTM a part of `given`.
        cells: `(T + 1, B, D)` of an LSTM, the first one before the first step; else empty.
        bent: `(T, B, D)`, their tanh.
    """

    given: Tensor
    gates: Tensor
    outputs: Tensor
    cells: Tensor
    bent: Tensor


def prepared(layer: ControllerLayer, known: Tensor | None, steps: int, batch: int) -> Ran:
    """Buffers before the first step.

    Args:
        layer: its weights.
        known: `(T, B, C)`, what is known of the inputs before, for the first C columns of the weight.
        steps: T.
        batch: B.
    """
    weight, bias, start = layer
    columns = 0 if known is None else known.shape[-1]
    if known is None:
        gates = bias.repeat(steps, batch, 1)
    else:
        gates = torch.addmm(bias, known.flatten(0, 1), weight[:, :columns].t()).view(steps, batch, -1)
    given = bias.new_empty(steps + 1, batch, weight.shape[1] - columns)
    if start is None:
        return Ran(given, gates, gates, bias.new_empty(0), bias.new_empty(0))
    size = start.shape[-1]
    outputs, cells = given[..., -size:], bias.new_empty(steps + 1, batch, size)
    outputs[0], cells[0] = start[0], start[1]
    return Ran(given, gates, outputs[1:], cells, bias.new_empty(steps, batch, size))


class Runner(Protocol):
    """Computes the output of a step from its row of `given`, or the gradient of the row from the output's."""

    def __call__(self, number: int) -> None:
        """Takes step `number`."""


def runner(layer: ControllerLayer, ran: Ran, copies: Tensor | None) -> Runner:
    """A layer's steps.

    Args:
        layer: its weights.
        ran: what `prepared` returned; filled by the steps.
        copies: `(T, B, D)`, where the output is written a second time; or None.
    """
    weight = _of_given(layer, ran).t()
    return (_Tanh if layer.start is None else _LSTM)(weight, ran, copies)


def back_runner(layer: ControllerLayer, ran: Ran, gradients: "Gradients") -> Runner:
    """A layer's steps back; each adds to the row of `gradients.given` of its step."""
    weight = _of_given(layer, ran)
    return (_TanhBack if layer.start is None else _LSTMBack)(weight, ran, gradients)


def _of_given(layer: ControllerLayer, ran: Ran) -> Tensor:
    return layer.weight[:, layer.weight.shape[1] - ran.given.shape[-1] :]


class _Tanh:
    def __init__(self, weight: Tensor, ran: Ran, copies: Tensor | None) -> None:
        assert copies is None
        self._weight = weight
        self._steps = list(zip(ran.gates.unbind(), ran.given[:-1].unbind(), strict=True))

    def __call__(self, number: int) -> None:
        output, given = self._steps[number]
        torch.addmm(output, given, self._weight, out=output).tanh_()


class _LSTM:
    def __init__(self, weight: Tensor, ran: Ran, copies: Tensor | None) -> None:
        self._weight = weight
        size = ran.bent.shape[-1]
        parts: list[Tensor] = [
            ran.gates,
            ran.given[:-1],
            ran.gates[..., : 2 * size],
            *ran.gates.split(size, -1),
        ]
        parts += [ran.cells[:-1], ran.cells[1:], ran.bent, ran.outputs]
        self._steps = list(zip(*(part.unbind() for part in parts), strict=True))
        self._copies = None if copies is None else copies.unbind()

    def __call__(self, number: int) -> None:
        gates, given, first_two, read, keep, new, write, last, cell, bent, output = self._steps[number]
        torch.addmm(gates, given, self._weight, out=gates)
        first_two.sigmoid_()
        torch.mul(keep, last, out=cell).addcmul_(read, new.tanh_())
        torch.mul(write.sigmoid_(), torch.tanh(cell, out=bent), out=output)
        if self._copies is not None:
            self._copies[number].copy_(output)


class Gradients(NamedTuple):
    """Gradients of a layer's values.

    Attributes:
        given: as in `Ran`; of an LSTM the row of the next step has the gradients of the step's output.
        gates: `(T, B, G)`, before their activation.
        outputs: `(T, B, D)`, of an LSTM a part of `given`.
        cell: `(B, D)` of an LSTM, behind the last step and then before the first; else empty.
    """

    given: Tensor
    gates: Tensor
    outputs: Tensor
    cell: Tensor


def no_gradients(ran: Ran) -> Gradients:
    """Zeros, to which the steps back add."""
    given, gates = torch.zeros_like(ran.given), torch.empty_like(ran.gates)
    if not ran.bent.numel():
        return Gradients(given, gates, torch.zeros_like(ran.outputs), ran.bent)
    size = ran.bent.shape[-1]
    return Gradients(given, gates, given[1:, :, -size:], torch.zeros_like(ran.cells[0]))


class _TanhBack:
    def __init__(self, weight: Tensor, ran: Ran, gradients: Gradients) -> None:
        self._weight = weight
        slopes = 1 - ran.outputs.square()
        parts = (gradients.outputs, slopes, gradients.gates, gradients.given[:-1])
        self._steps = list(zip(*(part.unbind() for part in parts), strict=True))

    def __call__(self, number: int) -> None:
        of_output, slope, of_gates, of_given = self._steps[number]
        torch.mul(of_output, slope, out=of_gates)
        torch.addmm(of_given, of_gates, self._weight, out=of_given)


class _LSTMBack:
    def __init__(self, weight: Tensor, ran: Ran, gradients: Gradients) -> None:
        self._weight, self._of_cell = weight, gradients.cell
        read, keep, new, write = ran.gates.chunk(4, -1)
        # All that multiplies the gradients of cells and outputs does not depend on them: not in the loop.
        by_cell = torch.stack(
            [new * read * (1 - read), ran.cells[:-1] * keep * (1 - keep), read * (1 - new * new)], 2
        )
        shown = ran.bent * write
        by_four = gradients.gates.unflatten(-1, (4, -1))
        factors = (gradients.outputs, write - shown * ran.bent, by_cell, shown * (1 - write), keep)
        found = (by_four[:, :, :3], by_four[:, :, 3], gradients.gates, gradients.given[:-1])
        self._steps = list(zip(*(part.unbind() for part in (*factors, *found)), strict=True))
        self._of_cell_thrice = gradients.cell.unsqueeze(1)

    def __call__(self, number: int) -> None:
        of_output, to_cell, by_cell, to_write, keep, of_three, of_write, of_gates, of_given = self._steps[
            number
        ]
        self._of_cell.addcmul_(of_output, to_cell)
        torch.mul(self._of_cell_thrice, by_cell, out=of_three)
        torch.mul(of_output, to_write, out=of_write)
        self._of_cell.mul_(keep)
        torch.addmm(of_given, of_gates, self._weight, out=of_given)


def weight_gradients(
    layer: ControllerLayer, known: Tensor | None, ran: Ran, gradients: Gradients
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of a layer's weight, bias and start: one product over all steps."""
    of_gates = gradients.gates.flatten(0, 1)
    of_weight = of_gates.t() @ ran.given[:-1].flatten(0, 1)
    if known is not None:
        of_weight = torch.cat([of_gates.t() @ known.flatten(0, 1), of_weight], 1)
    if layer.start is None:
        return of_weight, of_gates.sum(0), None
    size = layer.start.shape[-1]
    of_start = torch.stack([gradients.given[0, :, -size:].sum(0), gradients.cell.sum(0)])
    return of_weight, of_gates.sum(0), of_start
