"""What holds for every score with every selection. Exceptions stand in EXCEPTIONS, each with its reason."""

import re

import pytest
import torch
from attention_cases import (
    COMBINATIONS,
    KEYS,
    QUERIES,
    SIZE,
    VALUE_SIZE,
    build,
    equal,
    every_combination,
    every_mode,
    inputs,
    leaf,
    randn,
    seeded,
)
from torch import Tensor

from zoo.attention import Attended, Attention, causal_mask, combine, padding_mask

pytestmark = pytest.mark.sampled(60)

# law -> name of a score, a selection or both -> why the law does not hold for it
EXCEPTIONS: dict[str, dict[str, str]] = {
    "rows sum to one": {
        "local_predictive": "the Gaussian is not normalised again: rows sum to at most 1",
    },
    "key order does not matter": {
        "location": "knows positions, not keys",
        "local_monotonic": "its window is around a position",
        "local_predictive": "its window is around a position",
        "content_and_location": "it shifts from where it read last",
        "uniform/hard": "of equal scores it takes the first",
        "uniform/gumbel_hard": "of equal scores it takes the first",
    },
    "gradient is that of the value": {
        "hard": "a sample is constant almost everywhere: its log-probability is checked instead",
        "gumbel_hard": "straight-through is biased by design: the soft path is checked with its equation",
    },
    "every parameter has a gradient": {
        "linear_concat/score.w_s.weight": "what is added to all scores cancels in the softmax",
    },
}


def excepted(law: str, *names: str) -> bool:
    return any(name in EXCEPTIONS[law] for name in (*names, "/".join(names)))


def read(attention: Attention, *, queries: int = QUERIES, mask: Tensor | None = None) -> Attended:
    query, keys, values = inputs(2, queries=queries)
    return seeded(attention, query, attention.prepare(keys, values, mask))


def outputs(attended: Attended) -> list[Tensor]:
    return [part for part in attended if part is not None]


def lengths_mask() -> Tensor:
    return padding_mask(torch.tensor([KEYS, 4]), KEYS)


def test_every_exception_names_something() -> None:
    names = {name for pair in COMBINATIONS for name in pair}
    for law, exceptions in EXCEPTIONS.items():
        assert {name.split("/")[0] for name in exceptions} <= names, law


@every_combination
@every_mode
def test_rows_sum_to_one_and_read_the_values(score: str, selection: str, training: bool) -> None:
    attended = read(build(score, selection, training=training), mask=lengths_mask())
    assert attended.weights.shape == (2, QUERIES, KEYS)
    assert attended.context.shape == (2, QUERIES, VALUE_SIZE)
    total = attended.weights.sum(-1)
    assert (attended.weights >= 0).all()
    if excepted("rows sum to one", selection):
        assert ((total > 0) & (total <= 1)).all()
    else:
        equal(total, torch.ones_like(total))
    assert (attended.weights[1, :, 4:] == 0).all()
    equal(attended.context, attended.weights @ inputs(2)[2])


@every_combination
@every_mode
def test_a_query_with_nothing_to_attend_to_reads_zeros(score: str, selection: str, training: bool) -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        check_empty_rows(build(score, selection, training=training).to(dtype), dtype, autocast=False)
    check_empty_rows(build(score, selection, training=training).float(), torch.float32, autocast=True)


def check_empty_rows(attention: Attention, dtype: torch.dtype, *, autocast: bool) -> None:
    query, keys, values = (leaf(tensor.to(dtype)) for tensor in inputs(2))
    mask = padding_mask(torch.tensor([0, 4]), KEYS)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        attended = seeded(attention, query, attention.prepare(keys, values, mask))
    assert attended.weights.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert (attended.weights[0] == 0).all()
    assert (attended.context[0] == 0).all()
    assert all(output.isfinite().all() for output in outputs(attended))
    if attended.log_prob is not None:
        assert (attended.log_prob[0] == 0).all()
        assert (attended.entropy[0] == 0).all()
    sum(output.float().square().sum() for output in outputs(attended)).backward()
    for tensor in (query, keys, values, *attention.parameters()):
        assert tensor.grad is None or tensor.grad.isfinite().all()
    assert query.grad is None or (query.grad[0] == 0).all()


@every_combination
@every_mode
def test_a_memory_without_keys_reads_zeros(score: str, selection: str, training: bool) -> None:
    attention = build(score, selection, training=training)
    query, keys, values = inputs(2, keys=0)
    attended = attention(query, attention.prepare(keys, values))
    assert attended.weights.shape == (2, QUERIES, 0)
    equal(attended.context, torch.zeros(2, QUERIES, VALUE_SIZE, dtype=torch.float64))


@every_combination
def test_padding_changes_nothing(score: str, selection: str) -> None:
    attention = build(score, selection)
    query, keys, values = inputs(2)
    plain = seeded(attention, query, attention.prepare(keys, values, lengths_mask()))
    padded = [torch.cat([tensor, torch.full_like(tensor[:, :3], torch.nan)], 1) for tensor in (keys, values)]
    mask = padding_mask(torch.tensor([KEYS, 4]), KEYS + 3)
    longer = seeded(attention, query, attention.prepare(*padded, mask))
    equal(longer.context, plain.context)
    equal(longer.weights[..., :KEYS], plain.weights)
    assert (longer.weights[..., KEYS:] == 0).all()


@every_combination
@every_mode
def test_what_no_query_may_read_changes_neither_outputs_nor_gradients(
    score: str, selection: str, training: bool
) -> None:
    attention = build(score, selection, training=training)
    results = []
    for garbage in (None, torch.nan, torch.inf, 1e30):
        query, keys, values = (leaf(tensor) for tensor in inputs(2))
        with torch.no_grad():
            for tensor in (keys, values):
                if garbage is not None:
                    tensor[1, 4:] = garbage
        attention.zero_grad()
        attended = seeded(attention, query, attention.prepare(keys, values, lengths_mask()))
        sum(output.square().sum() for output in outputs(attended)).backward()
        tensors = (query, keys, values, *attention.parameters())
        gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
        results.append([*outputs(attended), *gradients])
    for poisoned in results[1:]:
        assert all(map(torch.equal, results[0], poisoned))


@every_combination
@every_mode
def test_the_future_does_not_leak(score: str, selection: str, training: bool) -> None:
    attention = build(score, selection, training=training)
    query, keys, values = inputs(2, queries=KEYS)
    mask = combine(causal_mask(KEYS, KEYS), lengths_mask())
    results = []
    for garbage in (None, torch.nan, torch.inf, 100.0):
        tensors = [leaf(tensor) for tensor in (query, keys, values)]
        with torch.no_grad():
            for tensor in tensors[1:]:
                if garbage is not None:
                    tensor[:, 3:] = garbage
        attention.zero_grad()
        attended = seeded(attention, tensors[0], attention.prepare(*tensors[1:], mask))
        early = [output[:, :3] for output in outputs(attended)]
        assert (early[1].triu(1) == 0).all()
        sum(output.square().sum() for output in early).backward()
        gradients = [tensor.grad for tensor in (*tensors, *attention.parameters()) if tensor.grad is not None]
        results.append([*early, *gradients])
    for changed in results[1:]:
        assert all(map(torch.equal, results[0], changed))
        assert all(part.isfinite().all() for part in changed)


@every_combination
@every_mode
def test_what_may_be_read_is_not_hidden_when_it_is_not_finite(
    score: str, selection: str, training: bool
) -> None:
    attention = build(score, selection, training=training)
    query, keys, values = inputs(2)
    values[:, 1] = torch.nan
    for mask in (None, lengths_mask(), causal_mask(QUERIES, KEYS)):
        attended = seeded(attention, query, attention.prepare(keys, values, mask))
        assert attended.context.isnan().all()
    hidden_at_first = causal_mask(QUERIES, KEYS) & torch.tensor([[False] * 4 + [True] * 3] * QUERIES)
    hidden_at_first[1:, 1] = True
    attended = seeded(attention, query, attention.prepare(keys, values, hidden_at_first))
    assert attended.context[:, 0].isfinite().all()
    assert attended.context[:, 1:].isnan().all()
    keys[:, 1, 2] = torch.inf
    attended = seeded(attention, query, attention.prepare(keys, inputs(2)[2], hidden_at_first))
    for output in outputs(attended._replace(state=None)):
        assert output[:, 0].isfinite().all()
        assert output[:, 1:].isnan().all()


@pytest.mark.parametrize("selection", ["hard", "gumbel_hard", "soft"])
@every_mode
def test_a_nan_key_makes_the_context_nan(selection: str, training: bool) -> None:
    attention = build("dot", selection, training=training)
    query, keys, values = inputs(2)
    keys[:, 2] = torch.nan
    attended = attention(query, attention.prepare(keys, values))
    assert attended.context.isnan().all()


@every_combination
def test_the_order_of_keys_does_not_matter(score: str, selection: str) -> None:
    attention = build(score, selection)
    query, keys, values = inputs(2)
    order = torch.tensor([3, 1, 6, 0, 5, 2, 4])
    mask = lengths_mask()
    plain = attention(query, attention.prepare(keys, values, mask))
    moved = attention(query, attention.prepare(keys[:, order], values[:, order], mask[..., order]))
    same = torch.allclose(moved.weights, plain.weights[..., order], rtol=0, atol=1e-10)
    assert same != excepted("key order does not matter", score, selection)
    if same:
        equal(moved.context, plain.context)


@every_combination
def test_a_batch_is_its_items(score: str, selection: str) -> None:
    attention = build(score, selection)
    query, keys, values = inputs(3)
    mask = padding_mask(torch.tensor([KEYS, 4, 0]), KEYS)
    together = attention(query, attention.prepare(keys, values, mask))
    for index in range(3):
        item = slice(index, index + 1)
        alone = attention(query[item], attention.prepare(keys[item], values[item], mask[item]))
        equal(alone.context, together.context[item])
        equal(alone.weights, together.weights[item])


@every_combination
def test_step_by_step_is_all_at_once(score: str, selection: str) -> None:
    attention = build(score, selection)
    query, keys, values = inputs(2)
    memory = attention.prepare(keys, values, lengths_mask())
    together, state = attention(query, memory), attention.init_state(memory)
    for step in range(QUERIES):
        one = attention(query[:, step : step + 1], memory, state)
        state = one.state
        equal(one.context, together.context[:, step : step + 1])
        equal(one.weights, together.weights[:, step : step + 1])


@every_combination
def test_hypotheses_read_as_if_each_were_alone(score: str, selection: str) -> None:
    """The query axis of a beam: every hypothesis is at the same step, and the memory is not repeated."""
    attention = build(score, selection)
    query, keys, values = inputs(2)
    memory = attention.prepare(keys, values, lengths_mask())
    state = attention.init_state(memory)
    for _ in range(2):  # from the very first step on
        kept = (KEYS,) if attention.selection.keeps_weights else ()
        assert state is None or state.shape == (2, 1, *kept)
        wide = None if state is None else state.expand(-1, QUERIES, *kept)
        beam = attention(query, memory, wide)
        for hypothesis in range(QUERIES):
            alone = attention(query[:, hypothesis : hypothesis + 1], memory, state)
            equal(alone.context, beam.context[:, hypothesis : hypothesis + 1])
        state = None if beam.state is None else beam.state[:, :1]


@every_combination
def test_a_memory_can_grow(score: str, selection: str) -> None:
    attention = build(score, selection)
    query, keys, values = inputs(2)
    mask = lengths_mask()[..., :5]
    grown = attention.extend(attention.prepare(keys[:, :5], values[:, :5], mask), keys[:, 5:], values[:, 5:])
    appended = torch.cat([mask, torch.ones(2, 1, 2, dtype=torch.bool)], -1)
    whole = attention.prepare(keys, values, appended)
    for actual, expected in zip(grown[:3], whole[:3], strict=True):
        torch.testing.assert_close(actual[0], expected[0])
    equal(attention(query, grown).context, attention(query, whole).context)


@every_combination
def test_any_leading_axes(score: str, selection: str) -> None:
    attention = build(score, selection)
    query, keys, values = inputs(2, 5)
    mask = padding_mask(torch.arange(10).view(2, 5) % (KEYS + 1), KEYS)
    nested = attention(query, attention.prepare(keys, values, mask))
    flat = attention(
        query.flatten(0, 1), attention.prepare(keys.flatten(0, 1), values.flatten(0, 1), mask.flatten(0, 1))
    )
    equal(nested.context.flatten(0, 1), flat.context)
    equal(nested.weights.flatten(0, 1), flat.weights)


@every_combination
def test_every_head_has_its_own_parameters(score: str, selection: str) -> None:
    heads = 3
    attention = build(score, selection, heads=heads)
    query, keys, values = inputs(2, heads)
    mask = lengths_mask().unsqueeze(1)
    together = attention(query, attention.prepare(keys, values, mask))
    for head in range(heads):
        single = build(score, selection)
        own = {name: value[head] for name, value in attention.state_dict().items()}
        single.load_state_dict(
            {name: own[name].view_as(value) for name, value in single.state_dict().items()}
        )
        alone = single(query[:, head], single.prepare(keys[:, head], values[:, head], mask[:, 0]))
        equal(alone.context, together.context[:, head])
        equal(alone.weights, together.weights[:, head])


@every_combination
def test_gradients_are_right(score: str, selection: str) -> None:
    """Numerically, for the reading; for sampled ones for their distribution, log-probability and entropy."""
    attention = build(score, selection, training=True)
    tensors = [leaf(tensor) for tensor in inputs(1, queries=2, keys=4)]
    mask = padding_mask(torch.tensor([3]), 4)

    def function(query: Tensor, keys: Tensor, values: Tensor, *_: Tensor) -> tuple[Tensor, ...]:
        attended = seeded(attention, query, attention.prepare(keys, values, mask))
        if not excepted("gradient is that of the value", selection):
            return attended.context, attended.weights
        return tuple(part for part in attended[3:] if part is not None)

    assert torch.autograd.gradcheck(function, (*tensors, *attention.parameters()), fast_mode=True)


@every_combination
def test_every_parameter_has_a_gradient(score: str, selection: str) -> None:
    attention = build(score, selection, training=True)
    query, keys, values = (leaf(tensor) for tensor in inputs(2))
    attended = seeded(attention, query, attention.prepare(keys, values, lengths_mask()))
    loss = attended.context.square().sum()
    if attended.log_prob is not None:
        loss = loss + attended.log_prob.square().sum()
    loss.backward()
    for name, parameter in attention.named_parameters():
        size = parameter.grad.abs().max()
        if excepted("every parameter has a gradient", f"{score}/{name}"):
            assert size < 1e-12
        else:
            assert size > 1e-6, name


@every_combination
@every_mode
def test_half_precision_reads_nearly_the_same(score: str, selection: str, training: bool) -> None:
    """Weights come in float32; sampled keys depend on the last bit, so their distribution is compared."""
    attention = build(score, selection, training=training).float()
    query, keys, values = (tensor.float() for tensor in inputs(2))
    exact = seeded(attention, query, attention.prepare(keys, values, lengths_mask()))
    with torch.autocast("cpu", torch.bfloat16):
        mixed = seeded(attention, query, attention.prepare(keys, values, lengths_mask()))
    assert mixed.weights.dtype == torch.float32
    assert all(output.isfinite().all() for output in outputs(mixed))
    if exact.probabilities is not None:
        assert (mixed.probabilities - exact.probabilities).abs().max() < 0.1
    elif selection != "local_predictive":  # the edge of its window may fall on the other side of a key
        assert (mixed.weights - exact.weights).abs().max() < 0.1


@every_combination
@every_mode
def test_no_value_is_fetched_from_the_device(score: str, selection: str, training: bool) -> None:
    """Tensors on `meta` have no values: whatever asks for one (`.item()`, `if tensor`) fails."""
    attention = build(score, selection, training=training).to("meta")
    query, keys, values = (tensor.to("meta") for tensor in inputs(2))
    for mask in (None, lengths_mask().to("meta"), causal_mask(QUERIES, KEYS, device=torch.device("meta"))):
        memory = attention.extend(attention.prepare(keys, values, mask), keys, values)
        attended = attention(query, memory)
        assert attended.context.device.type == "meta"


@every_combination
@every_mode
def test_nothing_is_kept_and_nothing_is_changed(score: str, selection: str, training: bool) -> None:
    attention = build(score, selection, training=training)
    query, keys, values = inputs(2)
    mask = lengths_mask()
    before = [tensor.clone() for tensor in (query, keys, values, mask)]
    kept = [set(vars(module)) for module in attention.modules()]
    memory = attention.prepare(keys, values, mask)
    copy = [tensor.clone() for tensor in memory[:3]]
    attended = attention(query, memory)
    attention(query, attention.extend(memory, keys, values), attended.state)
    assert all(map(torch.equal, (query, keys, values, mask), before))
    assert all(map(torch.equal, memory[:3], copy))
    assert [set(vars(module)) for module in attention.modules()] == kept


@every_combination
def test_without_values_the_keys_are_read(score: str, selection: str) -> None:
    attention = build(score, selection)
    query, keys, _ = inputs(2)
    mask = lengths_mask()
    alone = seeded(attention, query, attention.prepare(keys, keep_mask=mask))
    equal(alone.context, seeded(attention, query, attention.prepare(keys, keys, mask)).context)
    memory = attention.extend(attention.prepare(keys[:, :3]), keys[:, 3:])
    equal(memory.values, keys)


@every_combination
@every_mode
def test_huge_numbers_are_read_like_any_other(score: str, selection: str, training: bool) -> None:
    """As long as float32 holds the scores: those of products are squares."""
    attention = build(score, selection, training=training).float()
    size = 1e18 if attention.score.is_product else 1e30
    for mask in (None, lengths_mask(), causal_mask(QUERIES, KEYS)):
        query, keys, values = (leaf(size * tensor.float()) for tensor in inputs(2))
        attention.zero_grad()
        attended = seeded(attention, query, attention.prepare(keys, values, mask))
        assert all(output.isfinite().all() for output in outputs(attended))
        attended = attended._replace(context=attended.context / size)
        sum(output.sum() for output in outputs(attended)).backward()
        for tensor in (query, keys, values, *attention.parameters()):
            assert tensor.grad is None or tensor.grad.isfinite().all()
        if score == "cosine" and selection == "soft" and mask is None:
            equal(attended.weights.sum(-1), torch.ones(2, QUERIES), 1e-5)
            assert attended.weights.std(-1).max() > 0.1, "directions are not lost"


@every_combination
def test_torch_func_reads_and_differentiates_the_same(score: str, selection: str) -> None:
    attention = build(score, selection)
    mask = lengths_mask()

    def read(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        return attention(query, attention.prepare(keys, values, mask)).context

    given = inputs(2)
    together = read(*given, mask)
    equal(torch.func.vmap(read)(*given, mask), together)
    own = [leaf(part) for part in given]
    read(*own, mask).square().sum().backward()
    slopes = torch.func.grad(lambda *parts: read(*parts).square().sum(), argnums=(0, 1, 2))(*given, mask)
    for slope, part in zip(slopes, own, strict=True):
        equal(slope, torch.zeros_like(part) if part.grad is None else part.grad)


def dot_attention() -> Attention:
    return build("dot", "soft")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda a: a.prepare(randn(2, 5, 9)), "Dot has key_size=4, given keys of size 9"),
        (lambda a: a.prepare(randn(2, 5, 4), randn(2, 6, 3)), "given keys (2, 5, 4) and values (2, 6, 3)"),
        (lambda a: a.prepare(randn(2, 5, 4), keep_mask=randn(2, 1, 5)), "must be boolean"),
        (
            lambda a: a.prepare(randn(2, 5, 4), keep_mask=padding_mask(torch.tensor([1, 2]), 6)),
            "keep_mask (2, 1, 6) does not broadcast to (..., Q, K) = (2, 'Q', 5)",
        ),
        (
            lambda a: a.prepare(randn(2, 5, 4), keep_mask=padding_mask(torch.tensor([1, 2, 3]), 5)),
            "keep_mask (3, 1, 5) does not broadcast",
        ),
        (
            lambda a: a.prepare(randn(1, 5, 4), keep_mask=padding_mask(torch.tensor([1, 2, 3]), 5)),
            "keep_mask (3, 1, 5) does not broadcast",
        ),
        (
            lambda a: a(randn(2, 3, 9), a.prepare(randn(2, 5, 4))),
            "Dot has query_size=4, given a query of size 9",
        ),
        (
            lambda a: a(randn(2, 3, 4), a.prepare(randn(2, 5, 4), keep_mask=causal_mask(2, 5))),
            "the memory's keep_mask is for 2 queries, given 3",
        ),
        (
            lambda a: a.extend(a.prepare(randn(2, 5, 4)), randn(2, 1, 4), randn(2, 1, 3)),
            "the memory's values have size 4, given 3",
        ),
        (
            lambda _: build("dot", "soft", heads=3).prepare(randn(3, 2, 5, 4)),
            "Dot has heads=3, so keys need the shape (..., 3, K, 4), given (3, 2, 5, 4)",
        ),
    ],
)
def test_shapes_that_disagree_are_named(act: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        act(dot_attention())


def test_parts_that_disagree_are_named() -> None:
    from zoo.attention import Dot, Soft

    with pytest.raises(ValueError, match="score has query_size=4, selection has query_size=5"):
        Attention(score=Dot(query_size=SIZE, key_size=SIZE), selection=Soft(query_size=5))
    with pytest.raises(ValueError, match="score has heads=None, selection has heads=2"):
        Attention(score=Dot(query_size=SIZE, key_size=SIZE), selection=Soft(query_size=SIZE, heads=2))


def test_under_a_mask_for_each_query_padding_still_becomes_zeros() -> None:
    """Finite, but so large that a projection of it may not be."""
    keys = randn(1, KEYS, SIZE)
    keys[:, 4:] = 1e30
    mask = combine(causal_mask(QUERIES, KEYS), padding_mask(torch.tensor([4]), KEYS))
    memory = dot_attention().prepare(keys, keep_mask=mask)
    assert (memory.values[:, 4:] == 0).all()
    assert torch.equal(memory.values[:, :4], keys[:, :4])
    assert not memory.nonfinite.any()
