"""Recurrent layers against their equations, one step at a time, in float64."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from cells_by_hand import gru_by_hand, lstm_by_hand, rectified_by_hand
from torch import Tensor, nn

from zoo.networks.recurrent import GRU, LSTM, Rectified, Recurrent, State

LAYERS: dict[type[Recurrent], Callable[[Any, Tensor, State], State]] = {
    GRU: lambda layer, inputs, state: (gru_by_hand(layer, inputs, *state),),
    LSTM: lambda layer, inputs, state: lstm_by_hand(layer, inputs, *state),
    Rectified: lambda layer, inputs, state: (rectified_by_hand(layer, inputs, *state),),
}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("started", [False, True], ids=["from zeros", "from a state"])
def test_a_sequence_and_its_steps_equal_the_equations(kind: type[Recurrent], started: bool) -> None:
    torch.manual_seed(0)
    network = kind(input_size=3, hidden_size=5).double()
    layer = next(part for part in network.modules() if isinstance(part, nn.RNNBase))
    inputs = torch.randn(2, 4, 3).double()
    state: State = tuple(torch.randn(2, 5).double() * started for _ in range(network.parts))
    outputs = network(inputs, state if started else None)
    assert outputs.shape == (2, 4, 5)
    by_hand = [tuple(part[row] for part in state) for row in range(2)]
    for place in range(4):
        state = network.step(inputs[:, place], state)
        by_hand = [LAYERS[kind](layer, inputs[row, place], by_hand[row]) for row in range(2)]
        for number, part in enumerate(state):
            torch.testing.assert_close(part, torch.stack([parts[number] for parts in by_hand]))
        torch.testing.assert_close(state[0], outputs[:, place])
        assert len(state) == network.parts


def test_the_rectified_core_begins_by_keeping_what_it_knows() -> None:
    torch.manual_seed(0)
    core, known = Rectified(input_size=256, hidden_size=256), torch.rand(400, 256)
    (kept,) = core.step(torch.zeros(400, 256), (known,))
    assert torch.equal(kept, known)
    (new,) = core.step(torch.randn(400, 256), (torch.zeros(400, 256),))
    assert float(new.square().mean()) == pytest.approx(1, abs=0.1), "what it sees keeps its size"


def test_rectified_units_are_never_negative_and_some_rest() -> None:
    torch.manual_seed(0)
    outputs = Rectified(input_size=3, hidden_size=50)(torch.randn(4, 6, 3))
    assert outputs.min() == 0
    assert 0.1 < (outputs > 0).float().mean() < 0.9
