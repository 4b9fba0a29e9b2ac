"""One step of each recurrent layer for one row, written from its equations."""

import torch
from torch import Tensor, nn


def gru_by_hand(layer: nn.GRU, inputs: Tensor, state: Tensor) -> Tensor:
    """Cho et al. 2014, eq. 5-8, with the reset behind the product, as torch has it."""
    reset_x, update_x, new_x = (layer.weight_ih_l0 @ inputs + layer.bias_ih_l0).chunk(3)
    reset_h, update_h, new_h = (layer.weight_hh_l0 @ state + layer.bias_hh_l0).chunk(3)
    reset, update = torch.sigmoid(reset_x + reset_h), torch.sigmoid(update_x + update_h)
    return (1 - update) * torch.tanh(new_x + reset * new_h) + update * state


def lstm_by_hand(layer: nn.LSTM, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Hochreiter & Schmidhuber 1997, with forget gates."""
    gates = layer.weight_ih_l0 @ inputs + layer.bias_ih_l0 + layer.weight_hh_l0 @ hidden + layer.bias_hh_l0
    enter, forget, new, out = gates.chunk(4)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(cell), cell


def rectified_by_hand(layer: nn.RNN, inputs: Tensor, state: Tensor) -> Tensor:
    """Mnih et al. 2014, section 4: `h_t = Rect(Linear(h_{t-1}) + Linear(g_t))`."""
    of_state = layer.weight_hh_l0 @ state + layer.bias_hh_l0
    of_inputs = layer.weight_ih_l0 @ inputs + layer.bias_ih_l0
    total = of_state + of_inputs
    return torch.where(total > 0, total, 0.0)
