"""One rule for every softmax over keys: the weights are those of the kept scores alone, in float32 at least.

Exceptions stand in EXCEPTIONS, with the reason.
"""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from attention_cases import SELECTIONS, build, every_mode, leaf
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from zoo.attention import (
    Attention,
    Dot,
    Entmax,
    GumbelHard,
    Hard,
    LocalMonotonic,
    LocalPredictive,
    MultiHeadAttention,
    Selection,
    SelfAttention,
    Soft,
    Sparsemax,
    masked_softmax,
)
from zoo.attention.flexible import flex_context
from zoo.attention.fused import fused_context
from zoo.attention.memory import Memory
from zoo.attention.softmax import masked_log_softmax

pytestmark = pytest.mark.sampled(40)

INF, NAN = math.inf, math.nan
QUERIES, KEYS = 3, 6
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# All of them without a temperature, and with windows that reach everything.
WIDE: dict[str, Callable[[], Selection]] = {
    "soft": partial(Soft, query_size=2),
    "hard": partial(Hard, query_size=2),
    "gumbel_hard": partial(GumbelHard, query_size=2),
    "local_monotonic": partial(LocalMonotonic, query_size=2, window=KEYS),
    "local_predictive": partial(LocalPredictive, query_size=2, window=KEYS),
    "sparsemax": partial(Sparsemax, query_size=2),
    "entmax": partial(Entmax, query_size=2),
}

# What a kernel does otherwise than the rule -> why
EXCEPTIONS = {
    "nothing but -inf": "fused kernels read zeros: they never hold the scores that would tell such a row",
}


def lowest(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).min


# name -> the scores of a row's six keys, of which 0 and 3 are masked wherever there is a mask
ROWS: dict[str, Callable[[torch.dtype], list[float]]] = {
    "ordinary": lambda _: [1.5, 1.0, -0.5, 0.25, 2.0, 0.0],
    "one at the minimum": lambda dtype: [2.0, lowest(dtype), 0.5, 1.0, -0.5, 0.0],
    "nothing but the minimum": lambda dtype: [lowest(dtype)] * KEYS,
    "one at the maximum": lambda dtype: [2.0, -lowest(dtype), 0.5, 1.0, -0.5, 0.0],
    "from end to end": lambda dtype: [2.0, lowest(dtype), -lowest(dtype), 1.0, -0.5, -lowest(dtype)],
    "one -inf": lambda _: [2.0, 0.0, -INF, 1.0, -0.5, 0.0],
    "all but one -inf": lambda _: [-INF, -INF, -INF, -INF, 3.0, -INF],
    "nothing but -inf": lambda _: [-INF] * KEYS,
    "one +inf": lambda _: [2.0, 0.0, INF, 1.0, -0.5, 0.0],
    "one NaN": lambda _: [2.0, 0.0, 1.0, 1.0, NAN, 0.0],
}
UNDEFINED = ("nothing but -inf", "one +inf", "one NaN")
MASKS = ("none", "shared", "per query")

every_row = pytest.mark.parametrize("row", ROWS)
every_mask = pytest.mark.parametrize("masked", MASKS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def case(row: str, masked: str, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """Scores `(2, 3, 6)`, ordinary but for the first query of each item, and a mask.

    Of the mask per query the last query keeps nothing. What is masked holds NaN.
    """
    scores = torch.tensor([ROWS["ordinary"](dtype)] * QUERIES).to(dtype).repeat(2, 1, 1)
    scores[:, 0] = torch.tensor(ROWS[row](dtype), dtype=torch.float64).to(dtype)
    if masked == "none":
        return scores, None
    mask = torch.tensor([False, True, True, False, True, True]).expand(2, 1, KEYS).clone()
    if masked == "per query":
        mask = mask.repeat(1, QUERIES, 1)
        mask[:, -1] = False
    return scores.masked_fill(~mask, NAN), mask


def of_kept_alone(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The rule, row by row."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
    rows = []
    for row, kept in zip(scores.flatten(0, 1), mask.flatten(0, 1), strict=True):
        weights = torch.zeros(KEYS, dtype=wide)
        rows.append(weights.index_put((kept.nonzero()[:, 0],), row[kept].to(wide).softmax(0)))
    return torch.stack(rows).view_as(scores)


def same(actual: Tensor, expected: Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


@every_row
@every_mask
def test_weights_and_gradients_are_those_of_the_kept_scores_alone(row: str, masked: str) -> None:
    for dtype in DTYPES:
        check_weights(row, masked, dtype)


def check_weights(row: str, masked: str, dtype: torch.dtype) -> None:
    scores, mask = case(row, masked, dtype)
    slopes = torch.arange(1.0, KEYS + 1).to(torch.promote_types(dtype, torch.float32))
    found = []
    for function in (masked_softmax, of_kept_alone):
        own = leaf(scores)
        weights = function(own, mask)
        (weights * slopes).sum().backward()
        found.append((weights, own.grad))
    same(found[0][0], found[1][0])
    same(found[0][1], found[1][1], 1e-6 if dtype in (torch.float32, torch.float64) else 1e-2)
    weights, gradient = found[0]
    assert weights[:, 0].isnan().any() == (row in UNDEFINED)
    if mask is not None:
        assert not weights[~mask.expand_as(weights)].any(), "exactly, beside NaN as well"
        assert not gradient[~mask.expand_as(weights)].any()


@every_row
@every_mask
def test_logarithms_are_those_of_the_weights(row: str, masked: str) -> None:
    for dtype in DTYPES:
        check_logarithms(row, masked, dtype)


def check_logarithms(row: str, masked: str, dtype: torch.dtype) -> None:
    scores, mask = case(row, masked, dtype)
    own = leaf(scores)
    logarithms, weights = masked_log_softmax(own, mask), masked_softmax(scores, mask)
    nothing = torch.zeros(2, QUERIES, 1, dtype=torch.bool) if mask is None else ~mask.any(-1, keepdim=True)
    known = ~nothing & (True if mask is None else mask)
    same(logarithms.exp()[known.expand_as(weights)], weights[known.expand_as(weights)])
    entropy = (weights * logarithms).sum(-1)
    assert entropy[:, 1:].isfinite().all(), "zero times a logarithm is zero"
    assert entropy[:, 0].isnan().all() == (row in UNDEFINED)
    entropy[:, 1:].sum().backward()
    assert own.grad[:, 1:].isfinite().all()


def test_all_selections_are_here() -> None:
    """But for those that keep weights: a query's NaN is then that of all later ones."""
    kept = [name for name, make in SELECTIONS.items() if make(query_size=2).keeps_weights]
    assert [*WIDE, *kept] == sorted(SELECTIONS, key=lambda name: name in kept)


@pytest.mark.parametrize("selection", WIDE)
@every_row
@every_mask
def test_every_selection_follows_the_rule(selection: str, row: str, masked: str) -> None:
    """In one precision that a softmax widens and one that it keeps; the tests above have all of them."""
    for training in (False, True):
        for dtype in (torch.float16, torch.float32):
            check_selection(selection, row, masked, dtype, training=training)


def check_selection(selection: str, row: str, masked: str, dtype: torch.dtype, *, training: bool) -> None:
    torch.manual_seed(0)
    scores, mask = case(row, masked, dtype)
    scores = leaf(scores)
    selected = (
        WIDE[selection]().to(dtype).train(training)(scores, torch.zeros(2, QUERIES, 2, dtype=dtype), mask)
    )
    parts = [part for name, part in selected._asdict().items() if part is not None and name != "state"]
    assert all(part.dtype == torch.promote_types(dtype, torch.float32) for part in parts)
    assert all(part[:, 1:].isfinite().all() for part in parts), "other queries notice nothing"
    for part in parts:
        assert part[:, 0].isnan().any() == (row in UNDEFINED)
        if mask is not None and part.ndim == 3:
            assert not part[~mask.expand_as(part)].any()
    if row in UNDEFINED:
        return
    expected = of_kept_alone(scores.detach(), mask)
    distribution = selected.weights if selected.probabilities is None else selected.probabilities
    assert not distribution[expected == 0].any()
    assert not selected.weights[expected == 0].any(), "what cannot be is never sampled"
    if selection in ("soft", "local_monotonic") or selected.probabilities is not None:
        same(distribution, expected)
    loss = sum(part.square().sum() for part in parts)
    if loss.requires_grad:
        loss.backward()
        assert scores.grad.isfinite().all()


@pytest.mark.parametrize("kind", [Soft, GumbelHard])
@every_mask
@every_dtype
def test_a_temperature_divides_what_float32_holds(
    kind: type[Selection], masked: str, dtype: torch.dtype
) -> None:
    """1,000 divided by 0.01 is more than float16 holds."""
    _, mask = case("ordinary", masked, dtype)
    scores = leaf(torch.tensor([3000.0, 990, 1000, 2000, 1000, -1000]).to(dtype))
    row = scores.expand(2, QUERIES, KEYS)
    selected = kind(query_size=2, temperature=0.01)(row, row, mask)
    assert selected.weights.isfinite().all()
    if kind is Soft:
        best = [0] if masked == "none" else [2, 4]
        same(selected.weights[:, 0, best], torch.full_like(selected.weights[:, 0, best], 1 / len(best)))
    selected.weights.square().sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("selection", SELECTIONS)
@every_mode
@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_nothing_is_undefined_on_the_way_back(selection: str, training: bool) -> None:
    """Which torch's search for anomalies would report, in a query that keeps no key above all."""
    scores, mask = case("one -inf", "per query", torch.float32)
    scores = leaf(scores)
    made = SELECTIONS[selection](query_size=2).train(training)
    with torch.autograd.detect_anomaly(check_nan=True):
        selected = made(scores, torch.zeros(2, QUERIES, 2), mask)
        parts = [part for part in selected if part is not None and part.requires_grad]
        if parts:
            sum(part.square().sum() for part in parts).backward()
            assert scores.grad.isfinite().all()


def products(row: str, masked: str, dtype: torch.dtype, count: int) -> tuple[Tensor, Memory]:
    """A query and keys whose products are the row, `count` times over."""
    mask = case(row, masked, dtype)[1]
    keys = torch.zeros(2, 1, KEYS, 8, dtype=dtype)
    keys[:, 0, :, 0] = torch.tensor(ROWS[row](dtype), dtype=torch.float64).to(dtype)
    query = torch.zeros(2, 1, QUERIES, 8, dtype=dtype)
    query[..., 0] = 1
    values = torch.randn(2, 1, KEYS, 8, generator=torch.Generator().manual_seed(1)).to(dtype)
    keys, values = (tensor.repeat(1, 1, count, 1) for tensor in (keys, values))
    mask = None if mask is None else mask.unsqueeze(1).repeat(1, 1, 1, count)
    return query, Memory(keys, values, mask)


@every_row
@every_mask
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_fused_kernel_follows_the_rule(row: str, masked: str, dtype: torch.dtype) -> None:
    attention = Attention(score=Dot(query_size=8, key_size=8), selection=Soft(query_size=8, temperature=2.0))
    query, memory = products(row, masked, dtype, 30)
    found = []
    for fused in (False, True):
        own, keys, values = leaf(query), leaf(memory.projected), leaf(memory.values)
        given = Memory(keys, values, memory.keep_mask)
        context = fused_context(attention, own, given) if fused else attention.read(own, given, None).context
        found.append(context)
        if row in UNDEFINED:
            assert row in EXCEPTIONS or not fused or context[:, :, 0].isnan().all()
            continue
        context.square().sum().backward()
        assert all(tensor.grad.isfinite().all() for tensor in (keys, values))
    if row in EXCEPTIONS:
        kept_nothing = masked == "per query"
        assert found[0][:, :, : QUERIES - kept_nothing].isnan().all()
        assert not found[1].any(), EXCEPTIONS[row]
    else:
        same(found[1], found[0], 1e-5)


@every_row
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")  # it is compiled on a GPU
def test_the_flexible_kernel_follows_the_rule(row: str) -> None:
    count, window = 22, 10
    attention = Attention(score=Dot(query_size=8, key_size=8), selection=Soft(query_size=8))
    _, memory = products(row, "none", torch.float32, count)
    size = KEYS * count
    query = torch.zeros(2, 1, size, 8)
    query[..., 0] = 1
    kept = torch.tensor([False, True, True, False, True, True]).repeat(2, count)
    place = torch.arange(size)
    near = (place[:, None] - place).abs() <= window
    plain = attention.read(query, memory._replace(keep_mask=(kept[:, None] & near)[:, None]), None)
    read = flex_context(attention, query, memory, kept, window=window, causal=False)
    assert read is not None
    if row in EXCEPTIONS:
        assert plain.context.isnan().all()
        assert not read.context.any(), EXCEPTIONS[row]
    else:
        same(read.context, plain.context, 1e-5)


@every_dtype
def test_finite_numbers_whose_sum_is_not_are_read_like_any_other(dtype: torch.dtype) -> None:
    """With a mask for all queries, with one for each, and through a window."""
    largest = 0.75 * torch.finfo(dtype).max
    keys = torch.tensor([[[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]]).to(dtype)
    values = torch.full((1, 3, 4), largest, dtype=dtype)
    values[0, 1] *= -1
    attention = Attention(score=Dot(query_size=2, key_size=2), selection=Soft(query_size=2))
    query = keys[:, :2]
    found = []
    for mask in (None, torch.ones(1, 3, dtype=torch.bool), torch.ones(2, 3, dtype=torch.bool)):
        attended = attention(query, attention.prepare(keys, values, mask))
        assert attended.context.isfinite().all()
        assert attended.weights.isfinite().all()
        found.append(attended.context)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    for broken in (NAN, INF, -INF):
        changed = values.clone()
        changed[0, 2, 1] = broken
        mask = torch.tensor([[True, True, False], [True, True, True]])
        context = attention(query, attention.prepare(keys, changed, mask)).context
        assert context[:, 0].isfinite().all()
        assert context[:, 1].isnan().all()


def test_a_window_reads_finite_numbers_whose_sum_is_not() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(attention=MultiHeadAttention(query_size=4, heads=1), window=1).eval()
    for projection in (attention.attention.W_Q, attention.attention.W_K, attention.attention.W_V):
        torch.nn.init.constant_(projection.weight, 1e-30)
    inputs = torch.full((1, 5, 4), 0.75 * torch.finfo(torch.float32).max)
    assert inputs.sum(-1).isinf().all()
    for weights in (True, False):
        assert attention(inputs, weights=weights).context.isfinite().all()


class Counted(TorchDispatchMode):
    """Counts what writes as many numbers as there are scores, and what fetches one from the device."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.numbers, self.fetched = size, 0, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = function(*args, **(kwargs or {}))
        first = result[0] if isinstance(result, tuple) else result
        self.fetched += "_local_scalar_dense" in str(function)
        if isinstance(first, Tensor) and first.numel() == self.size and not function.is_view:
            self.numbers += first.is_floating_point()
        return result


@pytest.mark.parametrize(
    ("select", "dtype", "without", "with_mask"),
    [
        (Soft, torch.float32, 1, 3),  # the softmax; what is masked before and after it
        (Soft, torch.float16, 2, 4),  # a CPU's softmax turns to float32 first
        (partial(Soft, temperature=0.5), torch.float32, 2, 4),
        (partial(Soft, temperature=0.5), torch.float16, 3, 5),  # to float32 before it is divided
        (partial(LocalMonotonic, window=1), torch.float32, 3, 3),
    ],
)
def test_a_selection_passes_over_the_scores_as_rarely_as_it_can(
    select: Callable[..., Selection], dtype: torch.dtype, without: int, with_mask: int
) -> None:
    for masked, passes in zip(MASKS, (without, with_mask, with_mask), strict=True):
        scores, mask = case("ordinary", masked, dtype)
        with torch.no_grad(), Counted(scores.numel()) as counted:
            select(query_size=2)(scores, scores, mask)
        assert (counted.numbers, counted.fetched) == (passes, 0), masked


def test_the_rule_of_an_attention_is_that_of_its_selection() -> None:
    """A key of plus infinity spoils the query that may read it, and no other."""
    attention = build("dot", "soft")
    query, keys = torch.ones(1, 2, 4).double(), torch.ones(1, 3, 4).double()
    keys[0, 1, 0] = INF
    mask = torch.tensor([[True, False, True], [True, True, True]])
    attended = attention(query, attention.prepare(keys, torch.ones(1, 3, 2).double(), mask))
    same(attended.weights[0, 0], torch.tensor([0.5, 0.0, 0.5]).double())
    assert attended.context[0, 1].isnan().all()
