"""Addressing by content and location against a loop of equations 5 and 7 to 9."""

import math

import pytest
import torch
from attention_cases import SIZE, equal, leaf, randn, randomise
from torch import Tensor

from zoo.attention import ContentAndLocation, padding_mask

KEYS = 6
QUERIES = 4


def build(farthest_shift: int = 1) -> ContentAndLocation:
    selection = ContentAndLocation(query_size=SIZE, farthest_shift=farthest_shift)
    return randomise(selection).double()  # type: ignore[return-value]


def by_hand(
    selection: ContentAndLocation, scores: list[float], query: Tensor, last: list[float], farthest: int
) -> list[float]:
    """One step of one query over its own keys alone."""
    count = len(scores)
    gate, sharpness, *shifts = selection.W(query[None, None])[0, 0].tolist()
    content = [math.exp(score) for score in scores]
    content = [one / sum(content) for one in content]  # (5)
    gate = 1 / (1 + math.exp(-gate))
    gated = [gate * new + (1 - gate) * old for new, old in zip(content, last, strict=True)]  # (7)
    chances = [math.exp(shift) for shift in shifts]
    chances = [one / sum(chances) for one in chances]
    shifted = [
        sum(
            chances[shift + farthest] * gated[(i - shift) % count] for shift in range(-farthest, farthest + 1)
        )
        for i in range(count)
    ]  # (8), a shift by +1 moves the focus to the next key
    power = 1 + math.log1p(math.exp(sharpness))
    raised = [one**power for one in shifted]
    return [one / sum(raised) for one in raised]  # (9)


@pytest.mark.parametrize("farthest", [0, 1, 2, 7])
@pytest.mark.parametrize("kept", [None, (KEYS, 4)])
def test_it_is_the_papers_equations(farthest: int, kept: tuple[int, int] | None) -> None:
    selection = build(farthest)
    scores, queries = randn(2, QUERIES, KEYS), randn(2, QUERIES, SIZE, seed=3)
    mask = None if kept is None else padding_mask(torch.tensor(kept), KEYS)
    found = selection(scores, queries, mask)
    for row in range(2):
        count = KEYS if kept is None else kept[row]
        last = [1.0] + [0.0] * (count - 1)
        for step in range(QUERIES):
            last = by_hand(selection, scores[row, step, :count].tolist(), queries[row, step], last, farthest)
            equal(found.weights[row, step, :count], torch.tensor(last, dtype=torch.float64))
        assert (found.weights[row, :, count:] == 0).all()


def test_queries_with_a_state_each_follow_their_own() -> None:
    selection, last = build(), randn(2, QUERIES, KEYS, seed=5).softmax(-1)
    scores, queries = randn(2, QUERIES, KEYS), randn(2, QUERIES, SIZE, seed=3)
    found = selection(scores, queries, None, last)
    for row in range(2):
        for query in range(QUERIES):
            args = scores[row, query].tolist(), queries[row, query], last[row, query].tolist(), 1
            equal(found.weights[row, query], torch.tensor(by_hand(selection, *args), dtype=torch.float64))
    assert found.state is found.weights


def test_gradients_are_those_of_the_equations() -> None:
    selection = build()
    tensors = leaf(randn(1, 2, KEYS)), leaf(randn(1, 2, SIZE, seed=3)), leaf(randn(1, 2, KEYS).softmax(-1))

    def weights(scores: Tensor, queries: Tensor, last: Tensor) -> Tensor:
        return selection(scores, queries, None, last).weights

    assert torch.autograd.gradcheck(weights, tensors)


def test_weights_of_zero_have_a_gradient() -> None:
    """All weight on one key for many steps: nothing becomes NaN."""
    selection = ContentAndLocation(query_size=SIZE)
    with torch.no_grad():
        selection.W.bias.copy_(torch.tensor([-200.0, 50.0, -200.0, 200.0, -200.0]).view_as(selection.W.bias))
    scores, queries = leaf(torch.zeros(1, 50, KEYS)), leaf(torch.zeros(1, 50, SIZE))
    weights = selection(scores, queries).weights
    assert weights[0, :, 0].tolist() == [1.0] * 50
    weights.square().sum().backward()
    for tensor in (scores, queries, *selection.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


def test_a_shift_is_not_below_zero() -> None:
    with pytest.raises(ValueError, match="ContentAndLocation: farthest_shift=-1, must be at least 0"):
        ContentAndLocation(query_size=SIZE, farthest_shift=-1)
