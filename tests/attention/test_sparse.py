"""Sparsemax and entmax against a bisection of their definitions, with masks and infinite scores."""

import math
from collections.abc import Callable

import pytest
import torch
from attention_cases import KEYS, SIZE, equal, leaf, randn
from torch import Tensor

from zoo.attention import Entmax, Soft, Sparsemax, padding_mask
from zoo.attention.selections import Tempered
from zoo.attention.sparse import entmax, sparsemax

POWERS = {"sparsemax": 2.0, "entmax": 1.5}
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {"sparsemax": sparsemax, "entmax": entmax}
KINDS: dict[str, type[Tempered]] = {"sparsemax": Sparsemax, "entmax": Entmax}
every = pytest.mark.parametrize("name", FUNCTIONS)


def by_bisection(scores: Tensor, power: float) -> Tensor:
    """`[(α - 1) z_i - τ]₊^(1/(α - 1))` with the τ for which it sums to one, found by halving an interval."""
    scaled = (power - 1) * scores.double()
    low, high = scaled.amax(-1, keepdim=True) - 1, scaled.amax(-1, keepdim=True)
    for _ in range(100):
        middle = (low + high) / 2
        above = ((scaled - middle).clamp(min=0) ** (1 / (power - 1))).sum(-1, keepdim=True) >= 1
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    return (scaled - low).clamp(min=0) ** (1 / (power - 1))


@every
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("keys", [1, 2, 7, 400])
def test_weights_are_those_of_the_definition(name: str, scale: float, keys: int) -> None:
    scores = scale * randn(5, 3, keys)
    weights = FUNCTIONS[name](scores)
    equal(weights, by_bisection(scores, POWERS[name]))
    single = FUNCTIONS[name](scores.float())
    equal(single.double(), weights, 1e-5)


@every
def test_equal_scores_have_equal_weights(name: str) -> None:
    equal(FUNCTIONS[name](torch.zeros(1, 5)), torch.full((1, 5), 0.2), 1e-7)
    tied = FUNCTIONS[name](torch.tensor([[3.0, 3.0, 0.0, 3.0 - 1e-3]]))
    assert tied[0, 2] == 0
    assert tied[0, 0] == tied[0, 1] > tied[0, 3] > 0


def test_supports_shrink_from_soft_to_sparsemax() -> None:
    scores = 1.5 * randn(50, 1, 30)
    read = [
        int((kind(query_size=SIZE)(scores, scores).weights > 0).sum()) for kind in (Soft, Entmax, Sparsemax)
    ]
    assert read[0] == 50 * 30
    assert read[0] > 2 * read[1] > 2 * read[2] >= 100


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # torch's own
@every
def test_gradients_are_those_of_the_definition(name: str) -> None:
    """Against the definition's own differences, twice, and in every mode of differentiation."""
    scores = leaf(1.5 * randn(2, 3, KEYS))
    function = FUNCTIONS[name]
    assert torch.autograd.gradcheck(function, scores, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, scores)
    slopes = randn(2, 3, KEYS, seed=9)
    (gradient,) = torch.autograd.grad((function(scores) * slopes).sum(), scores)
    step = 1e-6
    for key in range(KEYS):
        moved = torch.zeros(KEYS).double()
        moved[key] = step
        ends = [
            (by_bisection(scores.detach() + sign * moved, POWERS[name]) * slopes).sum(-1) for sign in (1, -1)
        ]
        equal(gradient[..., key], (ends[0] - ends[1]) / (2 * step), 1e-6)
    jacobian = torch.func.vmap(torch.func.jacrev(function))(scores.detach().flatten(0, 1))
    equal(torch.func.vmap(torch.func.jacfwd(function))(scores.detach().flatten(0, 1)), jacobian)


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_masked_keys_are_as_if_they_were_not_there(name: str, dtype: torch.dtype) -> None:
    mask = torch.tensor([[True, False, True, True, False, True]] * 2 + [[False] * 6])
    scores = randn(2, 3, 6).to(dtype).masked_fill(~mask, math.nan)
    own, slopes = leaf(scores), torch.arange(6)
    weights = KINDS[name](query_size=SIZE)(own, own, mask).weights
    assert weights.dtype == torch.promote_types(dtype, torch.float32)
    (weights * slopes).sum().backward()
    assert own.grad is not None
    kept = leaf(scores[:, :2, mask[0]])
    alone = FUNCTIONS[name](kept.to(weights.dtype))
    (alone * slopes[mask[0]]).sum().backward()
    assert torch.equal(weights[:, :2, mask[0]], alone)
    assert torch.equal(own.grad[:, :2, mask[0]], kept.grad)
    for found in (weights, own.grad):
        assert not found[..., ~mask[0]].any()
        assert not found[:, 2].any()


@every
def test_infinite_and_undefined_scores_follow_the_rule_of_softmax(name: str) -> None:
    lowest = torch.finfo(torch.float32).min
    rows = {
        (2.0, -math.inf, 1.9): False,
        (-math.inf, 3.0, -math.inf): False,
        (2.0, lowest, 1.9): False,
        (2.0, -lowest, 1.9): False,
        (lowest, lowest, lowest): False,
        (-math.inf, -math.inf, -math.inf): True,
        (0.0, math.inf, 1.0): True,
        (0.0, math.nan, 1.0): True,
    }
    scores = leaf(torch.tensor(list(rows)))
    weights = FUNCTIONS[name](scores)
    (weights * torch.arange(3)).sum().backward()
    for number, undefined in enumerate(rows.values()):
        expected = torch.full((3,), undefined)
        assert torch.equal(weights[number].isnan(), expected)
        assert torch.equal(scores.grad[number].isnan(), expected)
    defined = weights[: sum(not undefined for undefined in rows.values())]
    equal(defined.sum(-1), torch.ones(len(defined)), 1e-6)
    assert (defined[0, 1], defined[2, 1], defined[3, 0]) == (0, 0, 0)


def test_each_head_has_its_temperature() -> None:
    scores = randn(2, 3, 4, KEYS)
    mask = padding_mask(torch.tensor([KEYS, 4]), KEYS).unsqueeze(1)
    for kind in (Soft, Sparsemax, Entmax):
        together = kind(query_size=SIZE, heads=3, temperature=[0.5, 1.0, 4.0])(scores, scores, mask).weights
        for head, temperature in enumerate([0.5, 1.0, 4.0]):
            alone = kind(query_size=SIZE, temperature=temperature)(
                scores[:, head], scores, mask[:, 0]
            ).weights
            equal(together[:, head], alone, 1e-7)


@pytest.mark.parametrize(("heads", "temperature"), [(None, [1.0]), (2, [1.0, 2.0, 3.0]), (2, [1.0, -1.0])])
def test_temperatures_are_one_for_each_head(heads: int | None, temperature: list[float]) -> None:
    with pytest.raises(ValueError, match="Sparsemax: temperature="):
        Sparsemax(query_size=SIZE, heads=heads, temperature=temperature)
