"""The step of a Neural Turing Machine by hand against its plain formulas."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from zoo.kernels.memory_heads import cosine, lstm_cell, shifted_focus, written


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def weights(*shape: int, seed: int = 1) -> Tensor:
    return randn(*shape, seed=seed).softmax(-1)


CASES: dict[str, tuple[Callable[..., Tensor | tuple[Tensor, Tensor]], tuple[Tensor, ...]]] = {
    "shift by 1": (shifted_focus, (weights(2, 3, 6), weights(2, 3, 6, seed=2), randn(2, 3, 5, seed=3))),
    "shift by 2": (shifted_focus, (weights(2, 1, 6), weights(2, 1, 6, seed=2), randn(2, 1, 7, seed=3))),
    "no shift": (shifted_focus, (weights(1, 6), weights(1, 6, seed=2), randn(1, 3, seed=3))),
    "one writes": (written, (randn(2, 5, 4), weights(2, 1, 5), randn(2, 1, 4).sigmoid(), randn(2, 1, 4))),
    "three write": (written, (randn(2, 5, 4), weights(2, 3, 5), randn(2, 3, 4).sigmoid(), randn(2, 3, 4))),
    "cosine": (cosine, (randn(2, 3, 4), randn(2, 5, 4, seed=2))),
    "LSTM": (lstm_cell, (randn(2, 12), randn(2, 3, seed=2))),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_both_orders(case: str) -> None:
    function, inputs = CASES[case]
    inputs = tuple(tensor.clone().requires_grad_() for tensor in inputs)
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("case", CASES)
def test_transformed_it_is_the_plain_formula(case: str) -> None:
    function, inputs = CASES[case]
    found = torch.vmap(lambda *rows: function(*(row[None] for row in rows)))(*inputs)
    found, expected = (one if isinstance(one, tuple) else (one,) for one in (found, function(*inputs)))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.squeeze(1), other)


def test_the_cell_is_torchs() -> None:
    layer = torch.nn.LSTMCell(4, 3).double()
    inputs, hidden, cell = randn(2, 4), randn(2, 3), randn(2, 3, seed=2)
    gates = functional.linear(inputs, layer.weight_ih, layer.bias_ih)
    gates = gates + functional.linear(hidden, layer.weight_hh, layer.bias_hh)
    torch.testing.assert_close(lstm_cell(gates, cell), layer(inputs, (hidden, cell)))


def test_the_cosine_is_torchs_but_0_of_short_vectors() -> None:
    queries, keys = randn(2, 3, 4), randn(2, 5, 4, seed=2)
    expected = functional.cosine_similarity(queries.unsqueeze(2), keys.unsqueeze(1), -1)
    torch.testing.assert_close(cosine(queries, keys), expected)
    short = torch.full((1, 1, 4), 1e-7).requires_grad_()
    found = cosine(short, torch.ones(1, 1, 4))
    found.backward()
    assert found.item() == 0
    assert short.grad is not None
    assert (short.grad == 0).all()


def test_weights_of_zero_and_the_sharpest_have_a_gradient() -> None:
    content, last = torch.tensor([[1.0, 0, 0, 0]]), torch.tensor([[1.0, 0, 0, 0]])
    given = torch.tensor([[0.0, 1e6, -200.0, 200.0, -200.0]])
    inputs = [tensor.requires_grad_() for tensor in (content, last, given)]
    found = shifted_focus(*inputs)
    assert found.tolist() == [[1.0, 0, 0, 0]]
    found.square().sum().backward()
    for tensor in inputs:
        assert tensor.grad is not None
        assert math.isfinite(tensor.grad.abs().sum().item())
