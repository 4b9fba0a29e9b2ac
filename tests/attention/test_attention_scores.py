"""Each score against a loop written from its paper's equation."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from attention_cases import SCORES as COMBINED
from attention_cases import SIZE, equal, inputs, randn, randomise
from torch import Tensor, nn

from zoo.attention import (
    Additive,
    Attention,
    Cosine,
    Dot,
    Euclidean,
    General,
    Location,
    ScaledDot,
    Score,
    Soft,
    Uniform,
    covering,
    padding_mask,
)

SCORES = {**COMBINED, "cosine_scalar": partial(Cosine, strength_from_query=False)}

Align = Callable[[Score, Tensor, Tensor, int], Tensor]


def dot(_: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return sum(s[j] * h[j] for j in range(len(s)))


def scaled_dot(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return dot(score, s, h, i) / math.sqrt(len(s))


def general(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return dot(score, s, score.W.weight @ h, i)


def additive(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return dot(score, score.v.weight[0], torch.tanh(score.W.weight @ s + score.U.weight @ h), i)


def linear_concat(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return dot(score, torch.cat([score.w_s.weight, score.w_h.weight], 1)[0], torch.cat([s, h]), i)


def cosine(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    strength = torch.log(1 + torch.exp(dot(score, score.w.weight[0], s, i) + score.b))
    return (strength * dot(score, s, h, i) / (dot(score, s, s, i) * dot(score, h, h, i)).sqrt())[0]


def cosine_scalar(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return (torch.log(1 + torch.exp(score.b)) * nn.functional.cosine_similarity(s, h, dim=0))[0]


def euclidean(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return 1 / (1 + sum((s[j] - h[j]) ** 2 for j in range(len(s))).sqrt())


def location(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return (score.W.weight @ s)[i]


def uniform(score: Score, s: Tensor, h: Tensor, i: int) -> Tensor:
    return torch.zeros((), dtype=s.dtype)


EQUATIONS: dict[str, Align] = {
    "dot": dot,
    "scaled_dot": scaled_dot,
    "general": general,
    "additive": additive,
    "linear_concat": linear_concat,
    "cosine": cosine,
    "cosine_scalar": cosine_scalar,
    "euclidean": euclidean,
    "location": location,
    "uniform": uniform,
}


def make(name: str, **sizes: int | None) -> Score:
    return randomise(SCORES[name](**{"query_size": SIZE, "key_size": SIZE, **sizes})).double()


@pytest.mark.parametrize("name", SCORES)
def test_the_equation(name: str) -> None:
    score = make(name)
    query, keys, _ = inputs(2)
    actual = score(query, score.project_keys(keys))
    for b in range(query.shape[0]):
        for q in range(query.shape[1]):
            for i in range(keys.shape[1]):
                equal(actual[b, q, i], EQUATIONS[name](score, query[b, q], keys[b, i], i))


@pytest.mark.parametrize("name", ["general", "additive", "linear_concat", "location", "uniform"])
def test_query_and_key_sizes_may_differ(name: str) -> None:
    score = make(name, query_size=5, key_size=3)
    query, keys = randn(2, 6, 5), randn(2, 4, 3)
    actual = score(query, score.project_keys(keys))
    assert actual.shape == (2, 6, 4)
    equal(actual[1, 5, 3], EQUATIONS[name](score, query[1, 5], keys[1, 3], 3))


@pytest.mark.parametrize("kind", [Dot, ScaledDot, Cosine, Euclidean])
def test_sizes_that_must_agree_are_named(kind: type[Score]) -> None:
    with pytest.raises(ValueError, match=f"{kind.__name__}.* query_size=4 and key_size=6"):
        kind(query_size=4, key_size=6)


@pytest.mark.parametrize("name", ["query_size", "key_size", "heads"])
def test_sizes_below_one_are_refused(name: str) -> None:
    sizes = {"query_size": 4, "key_size": 4, "heads": 2, name: 0}
    with pytest.raises(ValueError, match=f"General: {name}=0, must be at least 1"):
        General(**sizes)


def test_numbers_of_a_score_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="hidden_size=0, must be at least 1"):
        Additive(query_size=4, key_size=4, hidden_size=0)
    with pytest.raises(ValueError, match="maximum_length=0, must be at least 1"):
        Location(query_size=4, key_size=4, maximum_length=0)
    with pytest.raises(ValueError, match="maximum_length is missing"):
        Location(query_size=4, key_size=4)


def test_scores_read_along_either_axis() -> None:
    """A score is usable alone: normalised over queries instead of keys it says which query a key answers."""
    score = make("additive")
    query, keys, _ = inputs(2)
    scores = score(query, score.project_keys(keys))
    equal(scores.softmax(-2).sum(-2), torch.ones(2, keys.shape[1], dtype=torch.float64))


def test_additive_is_luongs_concat_and_the_perceptron() -> None:
    """vᵀ tanh(W s + U h) = vᵀ tanh(W' [s; h]) when W' is W and U side by side."""
    score = make("additive", query_size=5, key_size=3)
    side_by_side = torch.cat([score.W.weight, score.U.weight], 1)
    query, keys = randn(2, 6, 5), randn(2, 4, 3)
    pairs = torch.cat([query[:, :, None].expand(2, 6, 4, 5), keys[:, None].expand(2, 6, 4, 3)], -1)
    perceptron = torch.tanh(pairs @ side_by_side.T) @ score.v.weight[0]
    equal(score(query, score.project_keys(keys)), perceptron)


def test_additive_has_as_many_hidden_units_as_the_query_by_default() -> None:
    assert Additive(query_size=5, key_size=3).W.weight.shape == (5, 5)


def test_linear_concat_reads_the_same_for_every_query() -> None:
    score = make("linear_concat")
    query, keys, _ = inputs(2)
    scores = score(query, score.project_keys(keys))
    assert (scores[:, 0] - scores[:, 1]).abs().min() > 1e-3
    weights = scores.softmax(-1)
    equal(weights, weights[:, :1].expand_as(weights))


def test_scaled_dot_has_unit_variance_at_any_size() -> None:
    for size in (4, 256):
        query, keys = randn(1, 200, size, seed=1), randn(1, 200, size, seed=2)
        score = ScaledDot(query_size=size, key_size=size)
        assert score(query, score.project_keys(keys)).std() == pytest.approx(1, abs=0.1)


def test_cosine_starts_with_unit_variance_and_sees_directions_only() -> None:
    size = 256
    torch.manual_seed(0)
    score = Cosine(query_size=size, key_size=size, strength_from_query=False).double()
    query, keys = randn(1, 200, size, seed=1), randn(1, 200, size, seed=2)
    scores = score(query, score.project_keys(keys)).detach()
    assert scores.std() == pytest.approx(1, abs=0.1)
    equal(score(3 * query, score.project_keys(0.5 * keys)), scores)


def test_cosine_of_a_zero_vector_is_zero_without_a_gradient() -> None:
    score = make("cosine")
    query = torch.zeros(1, 2, SIZE, dtype=torch.float64, requires_grad=True)
    keys = torch.zeros(1, 3, SIZE, dtype=torch.float64, requires_grad=True)
    scores = score(query, score.project_keys(keys))
    scores.sum().backward()
    for tensor in (scores, query.grad, keys.grad):
        assert (tensor == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_cosine_of_huge_vectors_is_that_of_their_directions(dtype: torch.dtype) -> None:
    """Their squares are more than the dtype holds, and gradients shrink as the vectors grow."""
    score = Cosine(query_size=4, key_size=4, strength_from_query=False).to(dtype)
    signs = torch.tensor([[[1.0, 1, 1, 1], [1, -1, 1, -1], [0, 0, 0, -1], [0.5, 0, 0, 0]]]).to(dtype)
    exact = Cosine(query_size=4, key_size=4, strength_from_query=False).double()
    expected = exact(signs.double(), exact.project_keys(signs.double()))
    for size in (1.0, 1e3, 1e20, 1e37, 0.9 * torch.finfo(dtype).max):
        if size > torch.finfo(dtype).max:
            continue
        query, keys = ((signs * size).requires_grad_() for _ in range(2))
        scores = score(query, score.project_keys(keys))
        torch.testing.assert_close(scores.double(), expected, rtol=0.02, atol=0.02)
        scores.square().sum().backward()
        for tensor in (query, keys):
            assert tensor.grad.isfinite().all()
            assert tensor.grad.abs().max() < 100 / size


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_cosine_of_a_very_short_vector_is_zero(dtype: torch.dtype) -> None:
    score = Cosine(query_size=4, key_size=4).to(dtype)
    some = torch.ones(1, 1, 4, dtype=dtype)
    for size in (0.0, 4e-7, 1e-20, 1e-30, torch.finfo(dtype).tiny / 4):
        if dtype == torch.float16 and size == torch.finfo(dtype).tiny / 4:
            continue  # 1.5e-5, which has a direction
        keys = torch.full((1, 2, 4), size, dtype=dtype, requires_grad=True)
        scores = score(some, score.project_keys(keys))
        scores.sum().backward()
        assert not scores.any()
        assert not keys.grad.any()


def test_cosine_of_a_nonfinite_vector_is_nan() -> None:
    score = Cosine(query_size=4, key_size=4).double()
    for broken in (math.nan, math.inf, -math.inf):
        keys = torch.ones(1, 2, 4).double()
        keys[0, 1, 2] = broken
        scores = score(torch.ones(1, 1, 4).double(), score.project_keys(keys))
        assert scores[..., 0].isfinite().all()
        assert scores[..., 1].isnan().all()


def test_location_sees_no_key_and_has_a_last_position() -> None:
    score = Location(query_size=4, key_size=6, maximum_length=5)
    assert score.project_keys(torch.randn(2, 5, 6)).shape == (2, 5, 0)
    with pytest.raises(ValueError, match=re.escape("maximum_length=5 positions, given 6 keys")):
        score(torch.randn(2, 1, 4), score.project_keys(torch.randn(2, 6, 6)))


def test_scores_that_count_positions_get_the_maximum_length() -> None:
    """Unless it has them; whatever counts none is left as it is, and so is all where nobody knows."""

    class Own(Location):
        def __init__(self, *, maximum_length: int, **sizes: Any) -> None:
            super().__init__(maximum_length=maximum_length, **sizes)

    sizes = {"query_size": 4, "key_size": 6}
    for score in (Location, partial(Location, maximum_length=None), Own):
        assert covering(score, 7)(**sizes).maximum_length == 7
    given = partial(Location, maximum_length=9)
    for longest in (None, 0, 7, 9):
        assert covering(given, longest)(**sizes).maximum_length == 9
        assert covering(Additive, longest) is Additive
    assert covering(Location, None) is covering(Location, 0) is Location
    with pytest.raises(ValueError, match="Location: maximum_length=9 is less than the 10 positions"):
        covering(given, 10)


def test_uniform_reads_the_mean_of_what_may_be_read_and_learns_nothing() -> None:
    score = Uniform(query_size=4, key_size=6)
    assert list(score.parameters()) == []
    attention = Attention(score=score, selection=Soft(query_size=4)).double()
    keys, lengths = randn(2, 5, 6), torch.tensor([5, 3])
    read = attention(randn(2, 3, 4), attention.prepare(keys, keep_mask=padding_mask(lengths, 5)))
    for row, length in enumerate(lengths.tolist()):
        for query in range(3):
            equal(read.context[row, query], keys[row, :length].mean(0))


@pytest.mark.parametrize("name", SCORES)
def test_parameters_start_like_those_of_a_linear_layer(name: str) -> None:
    torch.manual_seed(0)
    score = SCORES[name](query_size=SIZE, key_size=SIZE)
    for key, parameter in score.named_parameters():
        if key.endswith("weight"):
            assert 0 < parameter.abs().max() <= parameter.shape[-1] ** -0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_equal_vectors_have_distance_zero_and_finite_gradients(dtype: torch.dtype) -> None:
    """Also among many keys, where a distance by products of matrices would be rounded."""
    score = Euclidean(query_size=SIZE, key_size=SIZE)
    keys = (100 + randn(60, SIZE)).to(dtype).requires_grad_()
    query = keys.detach()[:40].clone().requires_grad_()
    scores = score(query, score.project_keys(keys))
    assert (scores.diagonal() == 1).all()
    scores.sum().backward()
    for leaf in (query, keys):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()
