"""Static attention: the first step's weights at every step."""

import torch
from attention_cases import KEYS, SIZE, build, equal, inputs, randn

from zoo.attention import Soft, Static, padding_mask

STEPS = 4


def test_every_step_has_the_weights_of_the_first() -> None:
    scores = randn(2, STEPS, KEYS)
    for temperature in (1.0, 0.5):
        for mask in (None, padding_mask(torch.tensor([KEYS, 4]), KEYS)):
            found = Static(query_size=SIZE, temperature=temperature)(scores, scores, mask)
            first = Soft(query_size=SIZE, temperature=temperature)(scores[:, :1], scores, mask).weights
            equal(found.weights, first.expand(-1, STEPS, -1))


def test_later_queries_change_nothing_and_learn_nothing() -> None:
    scores = randn(2, STEPS, KEYS).requires_grad_()
    weights = Static(query_size=SIZE)(scores, scores).weights
    (weights * randn(2, STEPS, KEYS, seed=5)).sum().backward()
    assert scores.grad is not None
    assert scores.grad[:, 0].all()
    assert not scores.grad[:, 1:].any()


def test_a_step_that_may_read_nothing_leaves_it_to_the_next() -> None:
    """At once and step by step, with a mask for each step that also takes keys away again."""
    selection, scores = Static(query_size=SIZE), randn(1, STEPS, KEYS)
    mask = torch.ones(1, STEPS, KEYS, dtype=torch.bool)
    mask[:, 0] = False
    mask[:, 3, :2] = False
    found = selection(scores, scores, mask)
    second = scores[0, 1].softmax(-1)
    equal(found.weights[0, :3], torch.stack([torch.zeros_like(second), second, second]))
    equal(found.weights[0, 3, 2:], second[2:])
    assert not found.weights[0, 3, :2].any()
    state = selection.init_state(randn(1, KEYS, SIZE))
    for step in range(STEPS):
        one = slice(step, step + 1)
        stepped = selection(scores[:, one], scores[:, one], mask[:, one], state)
        equal(stepped.weights, found.weights[:, one])
        state = stepped.state


def test_keys_that_a_memory_gains_weigh_zero() -> None:
    attention = build("dot", "static")
    query, keys, values = inputs(2)
    memory = attention.prepare(keys[:, :4], values[:, :4])
    first = attention(query[:, :1], memory, attention.init_state(memory))
    later = attention(query[:, 1:2], attention.extend(memory, keys[:, 4:], values[:, 4:]), first.state)
    equal(later.weights[..., :4], first.weights)
    assert not later.weights[..., 4:].any()
    equal(later.context, first.context)


def test_hypotheses_keep_their_own_weights() -> None:
    """States move with their hypotheses, as a beam search reorders them."""
    attention = build("general", "static")
    query, keys, values = inputs(2)
    memory = attention.prepare(keys, values)
    wide = attention.init_state(memory).expand(-1, 3, -1)
    first = attention(query, memory, wide)
    assert (first.weights[:, 0] - first.weights[:, 1]).abs().max() > 0.1
    order = [2, 0, 0]
    later = attention(query, memory, first.state[:, order])
    equal(later.weights, first.weights[:, order])
