"""Recurrent layers that run over a whole sequence or one step at a time, with the same parameters.

A sequence in one call is several times faster on a CPU than a loop of steps, but decoders that feed their
context back need the steps.

A state is a tuple of tensors whose first is the layer's output: `(h,)`, or `(h, c)` for an LSTM. Where a
docstring gives a state's size as `hidden_size`, a layer that keeps a tape has tensors of more axes there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from zoo.kernels import linear
from zoo.kernels.packed_recurrent import PackedReader, Weights, packed_gru, packed_lstm

State = tuple[Tensor, ...]


class Recurrent(nn.Module, ABC):
    """One recurrent layer.

    Args:
        input_size: features of each input.
        hidden_size: features of the output.

    Class attributes:
        packed: reads sequences of unequal length without padding; None: nothing does.
    """

    packed: ClassVar[PackedReader | None] = None

    parts: int  # vectors that a state begins with
    layer: nn.RNNBase

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size

    @abstractmethod
    def read(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The outputs `(B, T, hidden_size)` of inputs `(B, T, input_size)`, and the state behind the last.

        Args:
            inputs: the sequence.
            state: tensors `(B, hidden_size)` to start from; None: zeros.
        """

    def forward(self, inputs: Tensor, state: State | None = None) -> Tensor:
        """The outputs alone; see `read`."""
        return self.read(inputs, state)[0]

    @abstractmethod
    def step(self, inputs: Tensor, state: State) -> State:
        """Advances `(N, hidden_size)` states by inputs `(N, input_size)`."""

    def begun(self, vectors: State) -> State:
        """The state that begins with `parts` vectors `(*lead, hidden_size)`."""
        return vectors

    def empty(self, like: Tensor) -> State:
        """The state before anything was read: zeros of the lead, type and device of `like (*lead, _)`."""
        return tuple(like.new_zeros(*like.shape[:-1], self.hidden_size) for _ in range(self.parts))

    @property
    def weights(self) -> Weights:
        """Of the inputs and of the state, and their biases."""
        return Weights(*self.layer.parameters())


class GRU(Recurrent):
    """Gated recurrent unit (Cho et al. 2014, eq. 5-8) as in torch: the reset acts after the product."""

    packed: ClassVar[PackedReader | None] = staticmethod(packed_gru)
    parts = 1

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size)
        self.layer = nn.GRU(input_size, hidden_size, batch_first=True)

    def read(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """See `Recurrent`."""
        outputs, last = self.layer(inputs, None if state is None else state[0][None])
        return outputs, (last[0],)

    def step(self, inputs: Tensor, state: State) -> State:
        """See `Recurrent`."""
        return (torch.gru_cell(inputs, state[0], *self.weights),)


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997) with forget gates."""

    packed: ClassVar[PackedReader | None] = staticmethod(packed_lstm)
    parts = 2

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size)
        self.layer = nn.LSTM(input_size, hidden_size, batch_first=True)

    def read(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """See `Recurrent`."""
        start = None if state is None else (state[0][None], state[1][None])
        outputs, (hidden, cell) = self.layer(inputs, start)
        return outputs, (hidden[0], cell[0])

    def step(self, inputs: Tensor, state: State) -> State:
        """See `Recurrent`."""
        hidden, cell = torch.lstm_cell(inputs, state, *self.weights)
        return hidden, cell


class Rectified(Recurrent):
    """`h_t = Rect(Linear(h_{t-1}) + Linear(g_t))` (Mnih et al. 2014, section 4, "core network").

    The paper leaves the initialisation open. Here the recurrent matrix starts as the identity (Le et al.
    2015, "a simple way to initialize recurrent networks of rectified linear units"): with torch's small
    weights the state would forget a glimpse within few steps.
    """

    parts = 1

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size)
        self.layer = nn.RNN(input_size, hidden_size, nonlinearity="relu", batch_first=True)
        of_input, of_state, *biases = self.weights
        nn.init.kaiming_normal_(of_input, nonlinearity="relu")
        nn.init.eye_(of_state)
        for bias in biases:
            nn.init.zeros_(bias)

    def read(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """See `Recurrent`."""
        outputs, last = self.layer(inputs, None if state is None else state[0][None])
        return outputs, (last[0],)

    def step(self, inputs: Tensor, state: State) -> State:
        """See `Recurrent`."""
        of_input, of_state, input_bias, state_bias = self.weights
        return ((linear(inputs, of_input, input_bias) + linear(state[0], of_state, state_bias)).relu(),)


RecurrentLayer = Callable[..., Recurrent]
"""`GRU`, `LSTM` or `Rectified`, to be completed with `input_size` and `hidden_size`."""


class RecurrentStack(nn.Module):
    """Layers on top of each other with dropout between them.

    Args:
        recurrent: the kind of layer.
        input_size: features of each input.
        hidden_size: features of each layer's output.
        layers: number of layers.
        dropout: probability of dropping an input of the second and later layers.
    """

    def __init__(
        self, *, recurrent: RecurrentLayer, input_size: int, hidden_size: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        sizes = [input_size] + [hidden_size] * (layers - 1)
        stacked = [recurrent(input_size=size, hidden_size=hidden_size) for size in sizes]
        self.parts, self.hidden_size = stacked[0].parts, hidden_size
        self.layers = nn.ModuleList(stacked)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor, states: tuple[State, ...]) -> Tensor:
        """Runs `(B, T, input_size)` from states of `(B, 1, hidden_size)` tensors to `(B, T, hidden_size)`."""
        return self.read(inputs, tuple(tuple(part[:, 0] for part in state) for state in states))[0]

    def read(
        self, inputs: Tensor, states: tuple[State, ...] | None = None
    ) -> tuple[Tensor, tuple[State, ...]]:
        """Runs `(B, T, input_size)` from states of `(B, hidden_size)` tensors; None: zeros.

        Returns:
            Outputs `(B, T, hidden_size)` of the top layer, and every layer's state behind the last input.
        """
        read = []
        for number, part in enumerate(self.layers):
            layer = cast(Recurrent, part)
            state = None if states is None else states[number]
            inputs, last = layer.read(self.dropout(inputs) if number else inputs, state)
            read.append(last)
        return inputs, tuple(read)

    def step(self, inputs: Tensor, states: tuple[State, ...]) -> tuple[State, ...]:
        """Advances states of `(B, W, hidden_size)` tensors by inputs `(B, W, input_size)`."""
        shape = inputs.shape[:2]
        inputs, advanced = inputs.flatten(0, 1), []
        for number, (layer, state) in enumerate(zip(self.layers, states, strict=True)):
            flat = tuple(part.flatten(0, 1) for part in state)
            new = cast(Recurrent, layer).step(self.dropout(inputs) if number else inputs, flat)
            advanced.append(tuple(part.unflatten(0, shape) for part in new))
            inputs = new[0]
        return tuple(advanced)

    def begun(self, vectors: Tensor) -> tuple[State, ...]:
        """The states that begin with vectors `(B, layers, parts, hidden_size)`, of tensors `(B, 1, ...)`."""
        of_layers = zip(self.layers, vectors.unsqueeze(3).unbind(1), strict=True)
        return tuple(cast(Recurrent, layer).begun(tuple(first.unbind(1))) for layer, first in of_layers)

    def empty(self, like: Tensor) -> tuple[State, ...]:
        """The states before anything was read; see `Recurrent.empty`."""
        return tuple(cast(Recurrent, layer).empty(like) for layer in self.layers)
