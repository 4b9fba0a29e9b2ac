"""Masks are boolean, True = may attend, and softmax keeps to them exactly."""

import ast
from pathlib import Path

import pytest
import torch
from attention_cases import equal, leaf, randn

import zoo
from zoo.attention import causal_mask, combine, masked_softmax, padding_mask


def test_padding_mask_keeps_real_keys() -> None:
    mask = padding_mask(torch.tensor([[3, 0], [1, 4]]), 4)
    assert mask.shape == (2, 2, 1, 4)
    assert mask.dtype == torch.bool
    assert mask.sum(-1).squeeze(-1).tolist() == [[3, 0], [1, 4]]
    assert mask[0, 0, 0].tolist() == [True, True, True, False]


@pytest.mark.parametrize(("queries", "keys"), [(3, 3), (1, 4), (2, 5), (3, 2)])
def test_causal_mask_stands_at_the_last_key(queries: int, keys: int) -> None:
    mask = causal_mask(queries, keys)
    for q in range(queries):
        for k in range(keys):
            assert mask[q, k] == (keys - k >= queries - q), (q, k)


def test_combine_keeps_what_all_keep() -> None:
    causal, padding = causal_mask(3, 3), padding_mask(torch.tensor([2, 3]), 3)
    assert combine() is None
    assert combine(None, None) is None
    assert combine(None, causal) is causal
    assert torch.equal(combine(causal, None, padding), causal & padding)


def test_masked_softmax_is_softmax_over_the_kept() -> None:
    scores, mask = randn(2, 3, 5), padding_mask(torch.tensor([5, 2]), 5)
    weights = masked_softmax(scores, mask)
    equal(weights[0], scores[0].softmax(-1))
    equal(weights[1, :, :2], scores[1, :, :2].softmax(-1))
    assert (weights[1, :, 2:] == 0).all()
    equal(masked_softmax(scores), scores.softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_half_precision_is_normalised_in_float32(dtype: torch.dtype, masked: bool) -> None:
    scores = (5 * randn(4, 300)).to(dtype)
    mask = torch.ones(4, 300, dtype=torch.bool) if masked else None
    weights = masked_softmax(scores, mask)
    assert weights.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    equal(weights.double(), scores.double().softmax(-1), 1e-6)


@pytest.mark.parametrize("garbage", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_masked_scores_change_nothing_and_get_no_gradient(garbage: float, dtype: torch.dtype) -> None:
    scores = randn(3, 4).to(dtype)
    mask = torch.tensor([[True, True, False, False], [False] * 4, [True, False, True, False]])
    expected = masked_softmax(scores, mask)
    poisoned = leaf(scores.masked_fill(~mask, garbage))
    weights = masked_softmax(poisoned, mask)
    assert torch.equal(weights, expected)
    weights.square().sum().backward()
    assert poisoned.grad.isfinite().all()
    assert (poisoned.grad[~mask] == 0).all()
    assert (weights[1] == 0).all()


def test_scores_far_below_zero_still_compete() -> None:
    """A real key with a terrible score beats a masked one: there is no constant to fall below."""
    scores = torch.tensor([[-3e38, 0.0], [-1e30, 0.0]])
    mask = torch.tensor([[True, False], [True, False]])
    assert masked_softmax(scores, mask).tolist() == [[1, 0], [1, 0]]


def test_no_large_number_stands_for_minus_infinity() -> None:
    """Literals like minus ten thousand overflow in half precision, and are not minus infinity in full."""
    for path in sorted(Path(zoo.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
            if (
                negative
                and isinstance(node.operand, ast.Constant)
                and isinstance(node.operand.value, int | float)
            ):
                assert node.operand.value < 1e4, f"{path}:{node.lineno}"
