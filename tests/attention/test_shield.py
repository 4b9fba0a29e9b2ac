"""Masked keys and values are replaced, and where nothing has to be, nothing changes."""

import pytest
import torch
from torch import Tensor

from zoo.attention import MultiHeadAttention, SelfAttention, shield


def _read(inputs: Tensor) -> tuple[Tensor, ...]:
    torch.manual_seed(3)
    attention = SelfAttention(attention=MultiHeadAttention(query_size=8, heads=2), causal=True)
    inputs = inputs.clone().requires_grad_()
    context = attention(inputs).context
    weights = (inputs, *attention.parameters())
    return context, *torch.autograd.grad(context.nan_to_num().square().sum(), weights)


def test_finite_numbers_are_read_the_same_without_replacing_any(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = torch.randn(3, 7, 8)
    quick = _read(inputs)
    monkeypatch.setattr(shield, "_holds_all", lambda readable: False)
    for one, other in zip(quick, _read(inputs), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_a_number_that_is_not_finite_is_seen_from_its_place_on(number: float) -> None:
    inputs = torch.randn(3, 7, 8)
    inputs[1, 4, 2] = number
    context, *_ = _read(inputs)
    assert context[1, 4:].isnan().all()
    assert context[1, :4].isfinite().all()
    assert context[[0, 2]].isfinite().all()
