"""Splitting projections among heads is a change of axes."""

import pytest
import torch

from zoo.kernels import split_heads
from zoo.kernels.heads import plain_heads


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_it_is_its_plain_twin(lead: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    projected = torch.randn(*lead, 5, 2 * 3 * 4, requires_grad=True)
    found = []
    for function in (split_heads, plain_heads):
        parts = function(projected, 2, 3)
        assert all(part.shape == (*lead, 3, 5, 4) for part in parts)
        loss = sum((number + 1) * part.sin().sum() for number, part in enumerate(parts))
        found.append([*parts, torch.autograd.grad(loss, projected)[0]])
    for actual, expected in zip(*found, strict=True):
        assert torch.equal(actual, expected)


def test_second_derivatives() -> None:
    projected = torch.randn(2, 3, 2 * 2 * 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda rows: split_heads(rows, 2, 2), projected)
