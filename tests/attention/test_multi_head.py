"""Multi-head attention: the paper's equations, torch's own layer, every score and selection in every head."""

import math
import re
from functools import partial

import pytest
import torch
from attention_cases import SCORES, SELECTIONS, equal, leaf, randn, randomise
from torch import Tensor, nn

from zoo.attention import (
    Attended,
    Dot,
    General,
    Hard,
    LocalMonotonic,
    MultiHeadAttention,
    Rotary,
    ScaledDot,
    Soft,
    causal_mask,
    combine,
    multi_head,
    padding_mask,
)
from zoo.attention.multi_head import prepare_all

pytestmark = pytest.mark.sampled(40)

SIZE, HEADS, QUERIES, KEYS = 8, 2, 5, 7
COMBINATIONS = [(score, selection) for score in SCORES for selection in SELECTIONS]

every_combination = pytest.mark.parametrize(("score", "selection"), COMBINATIONS)


def build(score: str = "scaled_dot", selection: str = "soft", **changes: object) -> MultiHeadAttention:
    torch.manual_seed(0)
    settings: dict[str, object] = {"query_size": SIZE, "heads": HEADS, **changes}
    attention = MultiHeadAttention(score=SCORES[score], selection=SELECTIONS[selection], **settings)  # type: ignore[arg-type]
    randomise(attention)
    for name in ("W_Q", "W_K"):  # not so large that a softmax becomes an argmax
        if (projection := getattr(attention, name)) is not None:
            nn.init.normal_(projection.weight, std=0.3)
    return attention.double().eval()


def masks() -> dict[str, Tensor | None]:
    padding = padding_mask(torch.tensor([KEYS, 4]), KEYS)
    return {
        "none": None,
        "padding": padding,
        "causal": causal_mask(QUERIES, KEYS),
        "both": combine(padding, causal_mask(QUERIES, KEYS)),
        "per query": torch.rand(2, QUERIES, KEYS, generator=torch.Generator().manual_seed(9)) < 0.6,
    }


def read(attention: MultiHeadAttention, mask: Tensor | None, **how: bool) -> Attended:
    memory = attention.prepare(randn(2, KEYS, SIZE, seed=4), keep_mask=mask)
    torch.manual_seed(6)
    return attention(randn(2, QUERIES, SIZE, seed=3), memory, **how)


@pytest.mark.parametrize("kind", ["none", "padding"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weights", [True, False])
def test_one_product_makes_queries_keys_and_values(
    kind: str, bias: bool, weights: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention, mask = build(bias=bias), masks()[kind]
    found = []
    for together in (True, False):
        inputs = leaf(randn(2, KEYS, SIZE, seed=4))
        if not together:
            monkeypatch.setattr(multi_head, "_project_together", lambda *_, **__: False)
        assert multi_head._project_together([attention], inputs, queries=True) == together
        context = attention.read_itself(inputs, mask, weights=weights).context
        sources = [inputs, *attention.parameters()]
        found.append([context, *torch.autograd.grad(context.sin().sum(), sources)])
    for actual, expected in zip(*found, strict=True):
        equal(actual, expected)


def test_what_is_not_finite_goes_the_way_that_shields() -> None:
    attention, inputs = build(), randn(2, KEYS, SIZE, seed=4)
    assert multi_head._project_together([attention], inputs, queries=True)
    inputs[1, -1] = math.nan
    assert not multi_head._project_together([attention], inputs, queries=True)
    mask = masks()["padding"]
    context = attention.read_itself(inputs, mask, weights=False).context
    assert context[:, :4].isfinite().all()
    (memory,) = prepare_all([attention], inputs, mask)
    assert memory.values[1].isfinite().all()


@pytest.mark.parametrize("kind", ["none", "padding"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("score", ["scaled_dot", "general", "additive"])
def test_one_product_makes_the_memories_of_several_attentions(kind: str, bias: bool, score: str) -> None:
    attentions, mask = [build(score, bias=bias) for _ in range(3)], masks()[kind]
    for number, attention in enumerate(attentions):
        nn.init.normal_(attention.W_V.weight, mean=number)
    query, found = randn(2, QUERIES, SIZE, seed=3), []
    for together in (True, False):
        inputs = leaf(randn(2, KEYS, SIZE, seed=4))
        assert multi_head._project_together(attentions, inputs, queries=False)
        memories = (
            prepare_all(attentions, inputs, mask)
            if together
            else [attention.prepare(inputs, keep_mask=mask) for attention in attentions]
        )
        contexts = [one(query, memory).context for one, memory in zip(attentions, memories, strict=True)]
        sources = [inputs, *(weight for one in attentions for weight in one.parameters())]
        found.append(
            [*contexts, *torch.autograd.grad(sum(context.sin().sum() for context in contexts), sources)]
        )
    for actual, expected in zip(*found, strict=True):
        equal(actual, expected)


def test_attentions_of_unequal_sizes_prepare_one_by_one() -> None:
    attentions, keys = [build(), build(head_value_size=3)], randn(2, KEYS, SIZE, seed=4)
    assert not multi_head._project_together(attentions, keys, queries=False)
    assert [memory.values.shape[-1] for memory in prepare_all(attentions, keys)] == [SIZE // HEADS, 3]
    with pytest.raises(ValueError, match=f"key_size={SIZE}, given keys of size 3"):
        prepare_all([build()], keys[..., :3])


@pytest.mark.parametrize("kind", masks())
def test_equations(kind: str) -> None:
    """Section 3.2, one head, query and key at a time."""
    sizes = {"head_key_size": 3, "head_value_size": 5}
    attention, mask = build(**sizes), masks()[kind]
    attended = read(attention, mask)
    queries, keys = randn(2, QUERIES, SIZE, seed=3), randn(2, KEYS, SIZE, seed=4)
    mask = torch.ones(2, QUERIES, KEYS, dtype=torch.bool) if mask is None else mask.expand(2, QUERIES, KEYS)

    def project(layer: nn.Linear, row: Tensor, head: int, size: int) -> Tensor:
        own = slice(head * size, (head + 1) * size)
        return layer.weight[own] @ row + layer.bias[own]

    for b in range(2):
        for q in range(QUERIES):
            read_by_heads = []
            for head in range(HEADS):
                query = project(attention.W_Q, queries[b, q], head, 3)
                kept = mask[b, q].nonzero().flatten().tolist()
                scores = [query @ project(attention.W_K, keys[b, k], head, 3) / 3**0.5 for k in kept]
                weights = torch.stack(scores).softmax(0)
                values = torch.stack([project(attention.W_V, keys[b, k], head, 5) for k in kept])
                equal(attended.weights[b, head, q, kept], weights)
                read_by_heads.append(weights @ values)
            expected = attention.W_O.weight @ torch.cat(read_by_heads) + attention.W_O.bias
            equal(attended.context[b, q], expected)


@pytest.mark.parametrize("kind", masks())
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weights", [True, False])
def test_parity_with_torch(kind: str, bias: bool, weights: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    ours = build(bias=bias)
    theirs = nn.MultiheadAttention(SIZE, HEADS, bias=bias, batch_first=True).double().eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_Q.weight, ours.W_K.weight, ours.W_V.weight]))
        theirs.out_proj.weight.copy_(ours.W_O.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([ours.W_Q.bias, ours.W_K.bias, ours.W_V.bias]))
            theirs.out_proj.bias.copy_(ours.W_O.bias)
    mask = masks()[kind]
    blocked = None if mask is None else ~mask.expand(2, QUERIES, KEYS).repeat_interleave(HEADS, 0)
    keys = randn(2, KEYS, SIZE, seed=4)
    expected, expected_weights = theirs(
        randn(2, QUERIES, SIZE, seed=3), keys, keys, attn_mask=blocked, average_attn_weights=False
    )
    actual = read(ours, mask, weights=weights)
    equal(actual.context, expected)
    if weights:
        equal(actual.weights, expected_weights)
    else:
        assert actual.weights is None


@every_combination
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_every_part_works_in_every_head(score: str, selection: str, training: bool) -> None:
    """Rows sum to one at the most, padding weighs nothing, every parameter learns."""
    attention = build(score, selection).train(training)
    attended = read(attention, masks()["padding"])
    assert attended.context.shape == (2, QUERIES, SIZE)
    assert attended.weights.shape == (2, HEADS, QUERIES, KEYS)
    assert (attended.weights[1, :, :, 4:] == 0).all()
    assert (attended.weights.sum(-1) <= 1 + 1e-12).all()
    assert attended.context.isfinite().all()
    if not training:
        return
    loss = attended.context.square().sum()
    if attended.log_prob is not None:
        assert attended.log_prob.shape == attended.entropy.shape == (2, QUERIES)
        loss = loss + attended.log_prob.square().sum()
    loss.backward()
    without = [name for name, one in attention.named_parameters() if one.grad is None or not one.grad.any()]
    assert without == [name for name in without if "w_s" in name], "what cancels in the softmax"


@every_combination
def test_step_by_step_is_all_at_once(score: str, selection: str) -> None:
    """With states of (B, W, h), as a search reorders them."""
    attention = build(score, selection)
    memory = attention.prepare(randn(2, KEYS, SIZE, seed=4), keep_mask=masks()["padding"])
    queries = randn(2, QUERIES, SIZE, seed=3)
    together, state = attention(queries, memory), attention.init_state(memory)
    kept = (KEYS,) if attention.attention.selection.keeps_weights else ()
    assert state is None or state.shape == (2, 1, HEADS, *kept)
    for step in range(QUERIES):
        one = attention(queries[:, step : step + 1], memory, state)
        state = one.state
        equal(one.context, together.context[:, step : step + 1])
        equal(one.weights, together.weights[:, :, step : step + 1])


def test_what_is_sampled_counts_for_all_heads() -> None:
    attention = build("dot", "hard").train()
    attended = read(attention, None)
    chosen = (attended.weights * attended.probabilities).sum(-1).log().sum(1)
    equal(attended.log_prob, chosen)
    entropy = -(attended.probabilities * attended.probabilities.log()).sum((1, 3))
    equal(attended.entropy, entropy)


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("kind", ["padding", "both"])
def test_what_may_not_be_read_changes_nothing(
    kind: str, weights: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither outputs nor gradients, in the fused kernel as well."""
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    attention, mask, results = build(), masks()[kind], []
    for garbage in (None, torch.nan, torch.inf, 1e30):
        queries, keys = leaf(randn(2, QUERIES, SIZE, seed=3)), leaf(randn(2, KEYS, SIZE, seed=4))
        with torch.no_grad():
            if garbage is not None:
                keys[1, 4:] = garbage
        attention.zero_grad()
        attended = attention(queries, attention.prepare(keys, keep_mask=mask), weights=weights)
        attended.context.square().sum().backward()
        gradients = [tensor.grad for tensor in (queries, keys, *attention.parameters())]
        results.append([attended.context, *gradients])
    for poisoned in results[1:]:
        assert all(map(torch.equal, results[0], poisoned))
        assert all(part.isfinite().all() for part in poisoned)


@pytest.mark.parametrize("weights", [True, False])
def test_the_future_does_not_leak(weights: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    attention, results = build(), []
    for garbage in (None, torch.nan, 100.0):
        tokens = leaf(randn(2, KEYS, SIZE, seed=4))
        with torch.no_grad():
            if garbage is not None:
                tokens[:, 3:] = garbage
        attention.zero_grad()
        memory = attention.prepare(tokens, keep_mask=causal_mask(KEYS, KEYS))
        context = attention(randn(2, KEYS, SIZE, seed=3), memory, weights=weights).context
        assert garbage is None or garbage == 100 or context[:, 3:].isnan().all(), "it is not hidden either"
        context[:, :3].square().sum().backward()
        gradients = [parameter.grad for parameter in attention.parameters()]
        results.append([context[:, :3], tokens.grad[:, :3], *gradients])
    for changed in results[1:]:
        for before, after in zip(results[0], changed, strict=True):
            assert after.isfinite().all()
            equal(after, before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("weights", [True, False])
def test_a_query_with_nothing_to_attend_to_reads_zeros(
    dtype: torch.dtype, weights: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes out is the output projection's bias, with finite gradients."""
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    attention = build().to(dtype).train()
    keys = leaf(randn(2, KEYS, SIZE, seed=4).to(dtype))
    memory = attention.prepare(keys, keep_mask=padding_mask(torch.tensor([0, KEYS]), KEYS))
    context = attention(randn(2, QUERIES, SIZE, seed=3).to(dtype), memory, weights=weights).context
    assert torch.equal(context[0], attention.W_O.bias.expand(QUERIES, -1))
    context.float().square().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (keys, *attention.parameters()))


@pytest.mark.parametrize("kind", masks())
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("score", [Dot, ScaledDot, General])
def test_the_fused_kernel_reads_the_same(
    kind: str, dtype: torch.dtype, score: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As near to float64 as the plain products are, forward and backward, with any temperature."""
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    names = {Dot: "dot", ScaledDot: "scaled_dot", General: "general"}
    attention = build(names[score])
    attention.attention.selection.temperature = 1.7

    def run(dtype: torch.dtype, *, weights: bool) -> list[Tensor]:
        attention.to(dtype).zero_grad()
        queries = leaf(randn(2, QUERIES, SIZE, seed=3).to(dtype))
        keys = randn(2, KEYS, SIZE, seed=4).to(dtype)
        attended = attention(queries, attention.prepare(keys, keep_mask=masks()[kind]), weights=weights)
        assert (attended.weights is None) != weights
        attended.context.square().sum().backward()
        return [part.double() for part in (attended.context, queries.grad, attention.W_V.weight.grad)]

    state = {name: value.clone() for name, value in attention.state_dict().items()}
    exact = run(torch.float64, weights=True)
    plain = run(dtype, weights=True)
    attention.double().load_state_dict(state)
    fused = run(dtype, weights=False)
    for expected, by_products, by_kernel in zip(exact, plain, fused, strict=True):
        allowed = 2 * (by_products - expected).abs().max() + 4 * torch.finfo(dtype).eps * expected.abs().max()
        assert (by_kernel - expected).abs().max() <= allowed


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # torch's own
@pytest.mark.filterwarnings("error:There is a performance drop:UserWarning")
def test_torch_func_does_not_use_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no forward mode, and no second derivative."""
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    attention = build()
    query, keys = randn(2, QUERIES, SIZE, seed=3), randn(2, KEYS, SIZE, seed=4)

    def read(query: Tensor, keys: Tensor) -> Tensor:
        return attention(query, attention.prepare(keys), weights=False).context

    expected = read(query, keys)
    equal(torch.func.vmap(read)(query, keys), expected)
    equal(torch.func.jvp(read, (query, keys), (query, keys))[0], expected)
    second = torch.func.hessian(lambda query: read(query, keys).square().sum())(query)
    assert second.isfinite().all()
    assert second.any()


def test_the_kernel_is_not_used_where_it_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    for score, selection in COMBINATIONS:
        attended = read(build(score, selection), None, weights=False)
        assert (attended.weights is None) == (
            score in ("dot", "scaled_dot", "general") and selection == "soft"
        )


def test_dropout_drops_weights_and_keeps_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 1)
    attention = build(dropout=0.4).train()
    expected = read(attention.eval(), None).context
    for weights in (True, False):
        attention.train()
        memory = attention.prepare(randn(1, KEYS, SIZE, seed=4).expand(4000, -1, -1))
        many = attention(randn(1, QUERIES, SIZE, seed=3).expand(4000, -1, -1), memory, weights=weights)
        alone = attention.eval()(
            randn(1, QUERIES, SIZE, seed=3), attention.prepare(randn(1, KEYS, SIZE, seed=4))
        )
        assert not torch.equal(many.context[0], many.context[1])
        deviation = many.context.std(0) / 4000**0.5
        assert ((many.context.mean(0) - alone.context[0]).abs() < 5 * deviation).all()
        if weights:
            dropped = (many.weights == 0).double().mean()
            assert dropped == pytest.approx(0.4, abs=0.01)
    equal(read(attention.eval(), None).context, expected)


def test_keys_values_and_queries_may_have_sizes_of_their_own() -> None:
    attention = build(key_size=6, value_size=3, head_value_size=2)
    memory = attention.prepare(randn(2, KEYS, 6), randn(2, KEYS, 3, seed=8))
    assert memory.values.shape == (2, HEADS, KEYS, 2)
    assert attention(randn(2, QUERIES, SIZE, seed=3), memory).context.shape == (2, QUERIES, SIZE)


def test_any_leading_axes() -> None:
    attention = build()
    keys, queries = randn(2, 3, KEYS, SIZE), randn(2, 3, QUERIES, SIZE, seed=3)
    mask = padding_mask(torch.tensor([[7, 2, 0], [1, 7, 4]]), KEYS)
    nested = attention(queries, attention.prepare(keys, keep_mask=mask))
    flat = attention(
        queries.flatten(0, 1), attention.prepare(keys.flatten(0, 1), keep_mask=mask.flatten(0, 1))
    )
    equal(nested.context.flatten(0, 1), flat.context)
    assert nested.weights.shape == (2, 3, HEADS, QUERIES, KEYS)


@pytest.mark.parametrize("fewest", [1, 100])
def test_one_query_may_be_asked_of_many_memories(fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the fused kernel as by plain products."""
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", fewest)
    attention, query = build(), randn(1, QUERIES, SIZE, seed=3)
    memory = attention.prepare(randn(2, KEYS, SIZE), keep_mask=masks()["padding"])
    alone = attention(query, memory, weights=False).context
    equal(alone, attention(query.expand(2, -1, -1), memory).context)


def test_a_cache_grows_by_extend() -> None:
    """Token by token = all at once under a causal mask, with and without rotary positions."""
    for rotary in (None, Rotary):
        attention, tokens = build(rotary=rotary), randn(2, KEYS, SIZE, seed=4)
        whole = attention(tokens, attention.prepare(tokens, keep_mask=causal_mask(KEYS, KEYS)))
        memory = attention.prepare(tokens[:, :0])
        for t in range(KEYS):
            memory = attention.extend(memory, tokens[:, t : t + 1])
            equal(attention(tokens[:, t : t + 1], memory).context, whole.context[:, t : t + 1])


class TestRotary:
    def test_products_depend_on_the_distance_alone(self) -> None:
        """Equation 16: q at m times k at n depends on n - m."""
        rotary = Rotary(size=6)
        query, key = randn(1, 6, seed=3), randn(1, 6, seed=4)
        products = {
            (m, n): (rotary(query, m) @ rotary(key, n).mT).item() for m in (0, 3, 50) for n in (1, 4, 51)
        }
        assert products[0, 1] == pytest.approx(products[3, 4]) == pytest.approx(products[50, 51])
        assert products[0, 1] != pytest.approx(products[0, 4])

    def test_equation_15(self) -> None:
        vector, turned = randn(1, 4, seed=3), Rotary(size=4, base=100.0)(randn(1, 4, seed=3), 7)
        for pair, angle in ((0, 7.0), (1, 7 * 100**-0.5)):
            x, y = vector[0, pair], vector[0, pair + 2]
            equal(turned[0, pair], x * math.cos(angle) - y * math.sin(angle))
            equal(turned[0, pair + 2], y * math.cos(angle) + x * math.sin(angle))

    def test_an_odd_size_is_refused(self) -> None:
        with pytest.raises(ValueError, match="a head needs an even size, got 3"):
            build(rotary=Rotary, head_key_size=3)

    @pytest.mark.parametrize("base", [1.0, 0.0, -1.0, math.nan])
    def test_a_base_without_wavelengths_is_refused(self, base: float) -> None:
        with pytest.raises(ValueError, match=f"base must be above 1, got {base}"):
            Rotary(size=4, base=base)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: build(heads=3), "query_size=8 cannot be divided among heads=3"),
        (lambda: build(heads=0), "heads must be at least 1, got 0"),
        (lambda: build(heads=-2), "heads must be at least 1, got -2"),
        (lambda: build(head_key_size=0), "head_key_size must be at least 1, got 0"),
        (lambda: build(head_value_size=0), "head_value_size must be at least 1, got 0"),
        (lambda: MultiHeadAttention(query_size=0, heads=2), "query_size must be at least 1, got 0"),
        (lambda: build(key_size=0), "key_size must be at least 1, got 0"),
        (lambda: build(value_size=-1), "value_size must be at least 1, got -1"),
        (lambda: build(dropout=float("nan")), "dropout must be from 0 to 1, got nan"),
        (lambda: build().prepare(randn(2, KEYS, 5)), "key_size=8, given keys of size 5"),
        (
            lambda: build(key_size=5).prepare(randn(2, KEYS, 5), randn(2, KEYS, 4)),
            "value_size=5, given values of size 4",
        ),
        (lambda: build().prepare(randn(2, KEYS, 8), randn(2, 6, 8)), "each key needs one value"),
        (lambda: build().prepare(randn(2, KEYS, 8), keep_mask=torch.ones(2, 1, KEYS)), "must be boolean"),
        (
            lambda: build().prepare(randn(2, KEYS, 8), keep_mask=masks()["padding"][..., :3]),
            "does not broadcast",
        ),
        (
            lambda: build()(randn(2, QUERIES, 5), build().prepare(randn(2, KEYS, 8))),
            "given a query of size 5",
        ),
        (
            lambda: build()(randn(2, 3, 8), build().prepare(randn(2, KEYS, 8), keep_mask=masks()["causal"])),
            "keep_mask is for 5 queries, given 3",
        ),
        (
            lambda: build()(randn(3, QUERIES, 8), build().prepare(randn(2, KEYS, 8))),
            "queries (3, 5, 8) and a memory of (2,) differ in their leading axes",
        ),
    ],
)
def test_shapes_that_disagree_are_named(act: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        act()


def test_unused_projections_are_left_out() -> None:
    """Parameters without a gradient stop distributed training."""
    assert build("location").W_K is None
    assert build("uniform").W_Q is None
    assert build("uniform", "local_predictive").W_Q is not None
    partials = MultiHeadAttention(
        query_size=4, heads=2, score=Dot, selection=partial(LocalMonotonic, window=1)
    )
    assert isinstance(partials.attention.selection, LocalMonotonic)
    assert isinstance(MultiHeadAttention(query_size=4, heads=2, selection=Hard).attention.selection, Hard)
    assert isinstance(MultiHeadAttention(query_size=4, heads=2).attention.selection, Soft)
