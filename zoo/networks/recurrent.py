"""Recurrent layers that can be run over a whole sequence or one step at a time, with the same weights.

A sequence in one call is several times faster on a CPU than a loop of steps, but decoders that feed their
own reading back need the steps. Both forms of each layer share one set of parameters.

A state is a tuple of tensors whose first is the layer's output: `(h,)` for a GRU, `(h, c)` for an LSTM.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

State = tuple[Tensor, ...]


class Recurrent(nn.Module, ABC):
    """One recurrent layer.

    Args:
        input_size: features of each input.
        hidden_size: features of the output.
    """

    parts: int  # tensors in a state

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size

    @abstractmethod
    def forward(self, inputs: Tensor, state: State | None = None) -> Tensor:
        """Runs `(B, T, input_size)` from a state of `(B, hidden_size)` tensors (None: zeros) to `(B, T, hidden_size)`."""

    @abstractmethod
    def step(self, inputs: Tensor, state: State) -> State:
        """Advances `(N, hidden_size)` states by inputs `(N, input_size)`."""


class GRU(Recurrent):
    """Gated recurrent unit (Cho et al. 2014, eq. 5-8), torch's form: the reset gate acts after the product."""

    parts = 1

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size)
        self.layer = nn.GRU(input_size, hidden_size, batch_first=True)

    def forward(self, inputs: Tensor, state: State | None = None) -> Tensor:
        outputs: Tensor = self.layer(inputs, None if state is None else state[0][None])[0]
        return outputs

    def step(self, inputs: Tensor, state: State) -> State:
        layer = self.layer
        weights = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
        return (torch.gru_cell(inputs, state[0], *weights),)


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997) with forget gates."""

    parts = 2

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size)
        self.layer = nn.LSTM(input_size, hidden_size, batch_first=True)

    def forward(self, inputs: Tensor, state: State | None = None) -> Tensor:
        start = None if state is None else (state[0][None], state[1][None])
        outputs: Tensor = self.layer(inputs, start)[0]
        return outputs

    def step(self, inputs: Tensor, state: State) -> State:
        layer = self.layer
        weights = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
        hidden, cell = torch.lstm_cell(inputs, state, *weights)
        return hidden, cell


RecurrentLayer = Callable[..., Recurrent]
"""`GRU` or `LSTM`, to be completed with `input_size` and `hidden_size`."""


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
        self.layers = nn.ModuleList(recurrent(input_size=size, hidden_size=hidden_size) for size in sizes)
        self.dropout = nn.Dropout(dropout)
        self.parts = self.layers[0].parts

    def forward(self, inputs: Tensor, states: tuple[State, ...]) -> Tensor:
        """Runs `(B, T, input_size)` from states of `(B, 1, hidden_size)` tensors to `(B, T, hidden_size)`."""
        for number, (layer, state) in enumerate(zip(self.layers, states, strict=True)):
            inputs = layer(self.dropout(inputs) if number else inputs, tuple(part[:, 0] for part in state))
        return inputs

    def step(self, inputs: Tensor, states: tuple[State, ...]) -> tuple[State, ...]:
        """Advances states of `(B, W, hidden_size)` tensors by inputs `(B, W, input_size)`."""
        shape = inputs.shape[:2]
        inputs, advanced = inputs.flatten(0, 1), []
        for number, (layer, state) in enumerate(zip(self.layers, states, strict=True)):
            flat = tuple(part.flatten(0, 1) for part in state)
            new = layer.step(self.dropout(inputs) if number else inputs, flat)
            advanced.append(tuple(part.unflatten(0, shape) for part in new))
            inputs = new[0]
        return tuple(advanced)
