"""The Neural Turing Machine (Graves, Wayne and Danihelka 2014).

A controller reads the input and what was read last; heads read from a memory of N locations and write to it.
All heads are queries of one attention: its score is the paper's similarity with key strength (`Cosine`), its
selection the rest of the addressing (`ContentAndLocation`), its state the weights of the last step.

Shapes: B sequences, T steps, C input and O output channels, N locations of width M, R read and W write heads,
H = R + W, D controller size.
"""

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo.attention import ContentAndLocation, Cosine, Score, Selected, Selection
from zoo.attention.projection import Projection
from zoo.core.spec import DataSpec
from zoo.kernels import Linear, RepeatedLinear
from zoo.kernels.controller_layers import ControllerLayer
from zoo.kernels.memory_heads import SHORTEST, cosine, lstm_cell, written
from zoo.kernels.memory_machine import Heads, machine_runs, run_machine
from zoo.kernels.precision import without_autocast
from zoo.kernels.unchanged import unchanged
from zoo.networks.checks import check_sizes
from zoo.networks.seq2seq import AttentionParts
from zoo.networks.sequences import Answer, Trace, widths

ControllerState: TypeAlias = tuple[tuple[Tensor, Tensor], ...]
Step: TypeAlias = Callable[[Tensor, ControllerState], tuple[Tensor, ControllerState]]


_FIRST_STRENGTH = -1.8
"""Softplus makes it 0.15; with the factor of `Cosine`, near sqrt(M), learning begins with β below 1."""


class Controller(nn.Module):
    """Reads a vector at each step.

    Attributes:
        hidden_size: D.
    """

    hidden_size: int

    def begin(self, batch: int) -> tuple[Step, ControllerState]:
        """The step and the state before the first one.

        A step takes vectors `(B, I)` and the last state to an output `(B, D)` and the next state.
        """
        raise NotImplementedError


class FeedForwardController(Controller):
    """A layer without memory of its own: `h_t = tanh(W [x_t; r_{t-1}] + b)` (section 3.4)."""

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__()
        check_sizes(hidden_size=hidden_size)
        self.hidden_size, self.W = hidden_size, Linear(input_size, hidden_size)

    def begin(self, batch: int) -> tuple[Step, ControllerState]:
        """See `Controller`."""
        weight = RepeatedLinear(self.W.weight)

        def step(inputs: Tensor, state: ControllerState) -> tuple[Tensor, ControllerState]:
            return (weight(inputs) + self.W.bias).tanh(), state

        return step, ()

    def layers(self) -> list[ControllerLayer]:
        """The weights of its steps."""
        return [ControllerLayer(self.W.weight, self.W.bias, None)]


class LSTMController(Controller):
    """LSTM layers (section 3.4), whose first state is learned."""

    def __init__(self, *, input_size: int, hidden_size: int, layers: int) -> None:
        super().__init__()
        check_sizes(hidden_size=hidden_size, layers=layers)
        self.hidden_size = hidden_size
        sizes = [input_size] + [hidden_size] * (layers - 1)
        self.cells = nn.ModuleList([nn.LSTMCell(size, hidden_size) for size in sizes])
        self.start = nn.Parameter(torch.zeros(layers, 2, hidden_size))

    def begin(self, batch: int) -> tuple[Step, ControllerState]:
        """See `Controller`."""
        layers = [(RepeatedLinear(layer.weight), layer.bias) for layer in self.layers()]

        def step(inputs: Tensor, state: ControllerState) -> tuple[Tensor, ControllerState]:
            states = []
            for (weight, bias), (hidden, cell) in zip(layers, state, strict=True):
                states.append(lstm_cell(weight(torch.cat([inputs, hidden], -1)) + bias, cell))
                inputs = states[-1][0]
            return inputs, tuple(states)

        return step, tuple((hidden.expand(batch, -1), cell.expand(batch, -1)) for hidden, cell in self.start)

    def layers(self) -> list[ControllerLayer]:
        """The weights of its steps."""
        layers = []
        for cell, start in zip(self.cells, self.start, strict=True):
            assert isinstance(cell, nn.LSTMCell)
            weight = torch.cat([cell.weight_ih, cell.weight_hh], -1)
            layers.append(ControllerLayer(weight, cell.bias_ih + cell.bias_hh, start))
        return layers


class NeuralTuringMachine(nn.Module):
    """A controller with a memory.

    Section 3 leaves some things open; here:

    - All heads address, and read, the memory that the step found; it then changes for the next step.
    - The first reads, the first weights (a softmax) and the first state of the controller are learned; the
      first memory is a constant, which Collier and Beel 2018 found the best of three.
    - Learning begins with half of every first weight on location 0: a constant memory and equal weights
      would keep all locations alike for ever.
    - The controller emits for each head the key, the key strength β = softplus(.), which multiplies the score
      (equation 5), and a vector of the key's size, from which the selection computes g, s and γ. (`Cosine`
      has a positive factor of its own, which depends on the key.)
    - The output is a linear map of the controller's output and what it read.

    Args:
        spec: the widths of `inputs` and `targets`.
        controller: completed here.
        attention: score and selection, completed here.
        locations: N.
        width: M.
        read_heads: R.
        write_heads: W.
        first_memory: every number of the memory before the first step; not 0, whose cosine has no gradient.

    Raises:
        ValueError: a size is below 1, the first memory is too near to 0, or the data has other fields.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        controller: Callable[..., Controller],
        attention: Mapping[str, Callable[..., Score] | Callable[..., Selection]],
        locations: int,
        width: int,
        read_heads: int,
        write_heads: int,
        first_memory: float,
    ) -> None:
        super().__init__()
        check_sizes(locations=locations, width=width, read_heads=read_heads, write_heads=write_heads)
        if abs(first_memory) * math.sqrt(width) < SHORTEST:
            raise ValueError(
                f"first_memory must be at least {SHORTEST / math.sqrt(width):.1e} or as far below 0, got "
                f"{first_memory}: the cosine of shorter rows has no gradient"
            )
        channels, outputs = widths(spec)
        self.locations, self.width = locations, width
        self.read_heads, self.write_heads, self.first_memory = read_heads, write_heads, first_memory
        heads = read_heads + write_heads
        self.controller = controller(input_size=channels + read_heads * width)
        size = self.controller.hidden_size
        self.attention = AttentionParts(**attention).build(  # type: ignore[arg-type]
            query_size=width, key_size=width, longest=locations
        )
        # Of all heads keys k and what sets g, s and γ; of writing heads erase vectors e and add vectors a; β.
        self.emitted = [heads, heads, write_heads, write_heads]
        self.emit = Linear(size, sum(self.emitted) * width + heads)
        nn.init.constant_(self.emit.bias[-heads:], _FIRST_STRENGTH)
        self.output = Linear(size + read_heads * width, outputs)
        self.first_reads = nn.Parameter(0.01 * torch.randn(read_heads * width))
        kept = self.attention.selection.keeps_weights
        self.first_weights = None
        if kept:
            logits = torch.zeros(heads, locations)
            logits[:, 0] = math.log(locations)
            self.first_weights = nn.Parameter(logits)

    def forward(self, inputs: Tensor) -> Answer:
        """Reads `inputs (B, T, C)` step by step; the answer to a step depends on no later one.

        Under mixed precision the steps are float32: sharp addresses need it, and products are small.
        """
        with without_autocast(inputs.device.type):
            found = self._at_once(inputs) or self._step_by_step(inputs)
        return self._answer(*found)

    def _step_by_step(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs and reads of all steps `(B, T, D + R M)`, and the weights `(B, T, H, N)`."""
        batch = len(inputs)
        memory = inputs.new_full((batch, self.locations, self.width), self.first_memory)
        last = self._first_focus(memory)
        reads = self.first_reads.expand(batch, -1)
        step, state = self.controller.begin(batch)
        emit = RepeatedLinear(self.emit.weight)
        outputs, readings, trace = [], [], []
        for vectors in inputs.unbind(1):
            hidden, state = step(torch.cat([vectors, reads], -1), state)
            keys, focus, strengths, erase, add = self._parts(emit(hidden) + self.emit.bias)
            weights, last = self.address(memory, keys, strengths, focus, last)
            reading, writing = weights.split([self.read_heads, self.write_heads], 1)
            reads = (reading @ memory).flatten(1)  # (2): r_t = Σ_i w_t(i) M(i)
            memory = written(memory, writing, erase, add)  # (3), (4)
            outputs.append(hidden)
            readings.append(reads)
            trace.append(weights)
        states = torch.cat([torch.stack(outputs, 1), torch.stack(readings, 1)], -1)
        return states, torch.stack(trace, 1)

    def _answer(self, states: Tensor, weights: Tensor) -> Answer:
        return Answer(self.output(states), Trace(*weights.split([self.read_heads, self.write_heads], 2)))

    def _at_once(self, inputs: Tensor) -> tuple[Tensor, Tensor] | None:
        """What `_step_by_step` finds, in less time; None where some part is not the paper's."""
        attention, controller, width = self.attention, self.controller, self.width
        score, selection = attention.score, attention.selection
        if not (
            machine_runs(inputs, self.emit.weight)
            and type(self).address is NeuralTuringMachine.address
            and isinstance(controller, LSTMController | FeedForwardController)
            and type(controller) in (LSTMController, FeedForwardController)
            and isinstance(score, Cosine)
            and unchanged(score, Cosine)
            and score.w is not None
            and unchanged(score.w, Projection)
            and isinstance(selection, ContentAndLocation)
            and unchanged(selection, ContentAndLocation)
            and unchanged(selection.W, Projection)
            and selection.farthest_shift < self.locations
        ):
            return None
        assert selection.W.bias is not None
        assert self.first_weights is not None
        # One matrix, whose last column is a bias, for what the controller emits and what score and selection
        # compute of it.
        emit = torch.cat([self.emit.weight, self.emit.bias.unsqueeze(-1)], -1)
        *addresses, erase, add = emit[: sum(self.emitted) * width].split([n * width for n in self.emitted])
        keys, focus = (part.unflatten(0, (-1, width)) for part in addresses)
        strengths = emit[sum(self.emitted) * width :].unsqueeze(1)
        factors = score.w.weight @ keys + _last_column(score.b, emit)
        settings = selection.W.weight @ focus + _last_column(selection.W.bias, emit)
        rows = torch.cat([keys, settings[:, :2], strengths, factors, settings[:, 2:].flip(1)], 1)
        emit = torch.cat([rows.flatten(0, 1), erase, add])
        heads = Heads(
            reading=self.read_heads,
            writing=self.write_heads,
            locations=self.locations,
            width=width,
            shifts=2 * selection.farthest_shift + 1,
            first_memory=self.first_memory,
        )
        first = self.first_weights.softmax(-1)
        return run_machine(
            heads, inputs, self.first_reads, first, (emit[:, :-1], emit[:, -1]), controller.layers()
        )

    def _parts(self, emitted: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Keys and foci `(B, H, M)`, β `(B, H, 1)`, erase vectors in (0, 1) and add vectors `(B, W, M)`."""
        size = sum(self.emitted) * self.width
        vectors = emitted[:, :size].unflatten(-1, (-1, self.width))
        keys, focus, erase, add = vectors.split(self.emitted, 1)
        return keys, focus, functional.softplus(emitted[:, size:]).unsqueeze(-1), erase.sigmoid(), add

    def _first_focus(self, memory: Tensor) -> Tensor | None:
        """The selection's state before the first step; learned weights `(B, H, N)` where it keeps weights."""
        if self.first_weights is not None:
            return self.first_weights.softmax(-1).expand(len(memory), -1, -1)
        state = self.attention.selection.init_state(memory)
        return None if state is None else state.expand(-1, self.read_heads + self.write_heads)

    def address(
        self, memory: Tensor, keys: Tensor, strengths: Tensor, focus: Tensor, last: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The weights `(B, H, N)` of all heads, equations 5 to 9, and the selection's next state.

        Args:
            memory: `(B, N, M)`.
            keys: `(B, H, M)`.
            strengths: `(B, H, 1)`, above 0.
            focus: `(B, H, M)`, from which the selection computes gate, shifts and sharpness.
            last: the selection's state, such as the weights of the last step.
        """
        # Not `attention(...)`: score and selection have queries of their own here.
        score = self.attention.score
        if unchanged(score, Cosine) and isinstance(score, Cosine):  # the same, in fewer operations
            scores = (strengths * score.strength(keys)) * cosine(keys, memory)
        else:
            scores = strengths * score(keys, score.project_keys(memory))
        selected: Selected = self.attention.selection(scores, focus, None, last)
        return selected.weights, selected.state


def _last_column(bias: Tensor, like: Tensor) -> Tensor:
    return functional.pad(bias.unsqueeze(-1), (like.shape[-1] - 1, 0))
