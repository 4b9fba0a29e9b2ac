"""The doubly stochastic penalty against a loop written from its equation."""

import pytest
import torch
from attention_cases import equal, leaf, randn

from zoo.attention import doubly_stochastic_penalty, padding_mask


def test_every_key_should_be_read_once() -> None:
    weights, lengths = randn(3, 4, 5).softmax(-1), [4, 2, 1]
    total = 0.0
    for row, length in enumerate(lengths):
        for i in range(5):
            total += (1 - sum(float(weights[row, t, i]) for t in range(length))) ** 2
    penalty = doubly_stochastic_penalty(weights, padding_mask(torch.tensor(lengths), 4)[:, 0])
    assert float(penalty) == pytest.approx(total / 3)


def test_what_padded_steps_read_counts_for_nothing() -> None:
    weights, keep_mask = leaf(randn(2, 3, 4)), torch.tensor([[True, True, False], [True, False, False]])
    penalty = doubly_stochastic_penalty(weights, keep_mask)
    spoiled = weights.detach().masked_fill(~keep_mask.unsqueeze(-1), float("nan"))
    assert torch.equal(doubly_stochastic_penalty(spoiled, keep_mask), penalty)
    penalty.backward()
    assert weights.grad is not None
    assert not weights.grad[~keep_mask].any()
    assert weights.grad[keep_mask].all()


def test_reading_each_key_once_costs_nothing() -> None:
    once = torch.eye(4).expand(2, 4, 4)
    equal(doubly_stochastic_penalty(once, torch.ones(2, 4, dtype=torch.bool)), torch.tensor(0.0))
