"""The kernel for few keys reads and learns what its plain twin does."""

import pytest
import torch
from torch import Tensor

from zoo.kernels import Dropout, short_attention
from zoo.kernels.short_attention import plain_softmax

B, HEADS, QUERIES, KEYS, SIZE = 2, 3, 4, 5, 6


def operands(dtype: torch.dtype = torch.float64, scale: float = 1.0) -> list[Tensor]:
    torch.manual_seed(0)
    shapes = [(B, HEADS, QUERIES, SIZE), (B, HEADS, KEYS, SIZE), (B, HEADS, KEYS, 7)]
    return [(scale * torch.randn(shape, dtype=dtype)).requires_grad_() for shape in shapes]


def masks() -> dict[str, Tensor | None]:
    kept = torch.ones(B, 1, QUERIES, KEYS, dtype=torch.bool)
    kept[0, 0, 1], kept[1, 0, :, 3:] = False, False  # a query without keys; padding
    return {"none": None, "padding": kept[1:, :, :1], "causal": kept[0, 0].tril(), "all": kept}


def plain(parts: list[Tensor], mask: Tensor | None, dropout: float) -> Tensor:
    query, keys, values = parts
    weights = Dropout(dropout)(plain_softmax(query @ keys.mT, mask))
    return weights.to(values.dtype) @ values


def both(parts: list[Tensor], mask: Tensor | None, dropout: float = 0.0) -> list[list[Tensor]]:
    """The context and the gradients, ours and plain."""
    found = []
    for function in (lambda: short_attention(*parts, mask, dropout), lambda: plain(parts, mask, dropout)):
        torch.manual_seed(1)
        context = function()
        found.append([context, *torch.autograd.grad(context.float().sin().sum(), parts)])
    return found


@pytest.mark.parametrize("mask", masks())
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_it_is_its_plain_twin(mask: str, dropout: float) -> None:
    for actual, expected in zip(*both(operands(), masks()[mask], dropout), strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("mask", masks())
@pytest.mark.parametrize("scale", [0.01, 30.0])
def test_scores_of_any_size(mask: str, scale: float) -> None:
    for actual, expected in zip(*both(operands(scale=scale), masks()[mask]), strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-7, rtol=1e-7)


def test_half_precision_rounds_alike() -> None:
    for actual, expected in zip(*both(operands(torch.bfloat16), masks()["all"], 0.1), strict=True):
        assert actual.dtype == torch.bfloat16
        torch.testing.assert_close(actual, expected, atol=0.03, rtol=0.03)


def test_a_query_that_is_not_a_number_alone_reads_nan() -> None:
    parts = operands()
    with torch.no_grad():
        parts[0][1, 0, 0] = torch.nan
    context = short_attention(*parts, masks()["all"], 0.0)
    assert context[1, 0, 0].isnan().all()
    assert context.isnan().sum() == context.shape[-1]


def test_second_derivatives() -> None:
    parts = operands()
    assert torch.autograd.gradgradcheck(lambda *parts: short_attention(*parts, masks()["all"], 0.0), parts)
