"""A sequence that attends to itself: whole, causal, or through a window, which equals its mask."""

from typing import Any

import pytest
import torch
from attention_cases import SCORES, SELECTIONS, equal, leaf, randn, randomise
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoo.attention import (
    Attended,
    LocalMonotonic,
    LocalPredictive,
    MultiHeadAttention,
    Rotary,
    SelfAttention,
    causal_mask,
    combine,
    flexible,
    padding_mask,
)
from zoo.attention.flexible import window_mask

SIZE, LENGTH = 8, 100

every_direction = pytest.mark.parametrize("causal", [False, True], ids=["both sides", "causal"])


def build(*, causal: bool, window: int | None, score: str = "scaled_dot", **changes: object) -> SelfAttention:
    torch.manual_seed(0)
    attention = MultiHeadAttention(query_size=SIZE, heads=2, score=SCORES[score], **changes)  # type: ignore[arg-type]
    randomise(attention)
    for projection in (attention.W_Q, attention.W_K):
        if projection is not None:  # not so large that a softmax becomes an argmax
            nn.init.normal_(projection.weight, std=0.3)
    return SelfAttention(attention=attention, causal=causal, window=window).double().eval()


def banded(attention: SelfAttention, inputs: Tensor, keep_mask: Tensor | None) -> Attended:
    """The definition: everything is computed, and what is far is masked."""
    size, multi_head = inputs.shape[-2], attention.attention
    position = torch.arange(size)
    mask = None if keep_mask is None else keep_mask.unsqueeze(-2)
    if attention.window is not None:
        mask = combine(mask, (position[:, None] - position).abs() <= attention.window)
    if attention.causal:
        mask = combine(mask, causal_mask(size, size))
    return multi_head(inputs, multi_head.prepare(inputs, keep_mask=mask))


@every_direction
@pytest.mark.parametrize("window", [1, 40, 98, 99])
@pytest.mark.parametrize("size", [1, 2, 33, LENGTH])
def test_a_window_is_its_mask(causal: bool, window: int, size: int) -> None:
    attention = build(causal=causal, window=window, rotary=Rotary)
    inputs = randn(2, LENGTH, SIZE)[:, :size]
    for keep in (None, padding_mask(torch.tensor([size, size // 2]), size)[:, 0]):
        expected, actual = banded(attention, inputs, keep), attention(inputs, keep)
        equal(actual.context, expected.context)
        equal(actual.weights, expected.weights)
        equal(attention(inputs, keep, weights=False).context, expected.context)


@every_direction
@pytest.mark.parametrize("score", [name for name in SCORES if name != "location"])
def test_a_window_over_every_score(causal: bool, score: str) -> None:
    attention = build(causal=causal, window=2, score=score)
    inputs = randn(2, 40, SIZE)
    equal(attention(inputs).context, banded(attention, inputs, None).context)


@every_direction
@pytest.mark.parametrize("selection", ["hard", "gumbel_hard"])
def test_a_window_returns_the_selections_probabilities(causal: bool, selection: str) -> None:
    attention = build(causal=causal, window=2, selection=SELECTIONS[selection])
    inputs = randn(2, 40, SIZE)
    assert attention(inputs).log_prob is None
    equal(attention(inputs).probabilities, banded(attention, inputs, None).probabilities)
    attended = attention.train()(inputs)
    expected = banded(attention, inputs, None)  # other samples of the same distributions
    equal(attended.probabilities, expected.probabilities)
    if selection == "hard":
        equal(attended.entropy, expected.entropy)
        chosen = (attended.weights * attended.probabilities).sum(-1).log()
        equal(attended.log_prob, chosen.sum(1))


@every_direction
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_after_l_layers_a_position_depends_on_exactly_r_l_neighbours(
    causal: bool, window: int, layers: int
) -> None:
    """To either side, or behind; by autograd."""
    attention = build(causal=causal, window=window)
    inputs, place = leaf(randn(1, LENGTH, SIZE)), 50
    outputs: Tensor = inputs
    for _ in range(layers):
        outputs = outputs + attention(outputs, weights=False).context
    outputs[0, place].sum().backward()
    reached = inputs.grad[0].abs().sum(-1).nonzero().flatten().tolist()
    last = place if causal else place + window * layers
    assert reached == list(range(place - window * layers, last + 1))


@every_direction
def test_memory_grows_with_the_length_not_its_square(causal: bool) -> None:
    """What autograd keeps for the backward pass: twice as long a sequence needs twice as much."""

    def kept(size: int) -> int:
        total = 0

        def count(tensor: Tensor) -> Tensor:
            nonlocal total
            total += tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            attention(leaf(randn(1, size, SIZE)), weights=False)
        return total

    attention = build(causal=causal, window=4)
    assert kept(1024) / kept(512) == pytest.approx(2, rel=0.02)


class Largest(TorchDispatchMode):
    """The most numbers in a tensor that anything makes."""

    size = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        sizes = [part.numel() for part in tree_leaves(made) if isinstance(part, Tensor)]
        self.size = max(self.size, *sizes, 0)
        return made


@every_direction
def test_nothing_has_a_number_for_each_pair_of_positions(causal: bool) -> None:
    """Unless weights are asked for."""
    attention, inputs = build(causal=causal, window=4), leaf(randn(1, 1024, SIZE))
    for weights in (False, True):
        with Largest() as largest:
            attention(inputs, weights=weights).context.sum().backward()
        assert (largest.size >= 1024**2) == weights


@every_direction
@pytest.mark.parametrize("window", [None, 2])
def test_a_nan_reaches_only_the_queries_that_may_read_it(causal: bool, window: int | None) -> None:
    attention = build(causal=causal, window=window)
    inputs = randn(1, 60, SIZE)
    plain = attention(inputs).context
    nonfinite = inputs.clone()
    nonfinite[0, 30] = torch.nan
    for weights in (True, False):
        context = attention(nonfinite, weights=weights).context
        first = 30 if causal else 0 if window is None else 28
        last = 59 if window is None else 32
        spoilt = context.isnan().any(-1)[0].nonzero().flatten().tolist()
        assert spoilt == list(range(first, last + 1))
        sound = [place for place in range(60) if place not in spoilt]
        equal(context[:, sound], plain[:, sound])


@every_direction
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_the_fused_kernel_reads_the_same(causal: bool, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.attention.fused._FEWEST_KEYS_ON_A_CPU", 0)
    attention, inputs = build(causal=causal, window=None, rotary=Rotary), leaf(randn(2, 40, SIZE))
    keep = padding_mask(torch.tensor([40, 23]), 40)[:, 0] if padded else None
    actual, expected = attention(inputs, keep, weights=False), banded(attention, inputs, keep)
    assert actual.weights is None  # it was the kernel that read
    equal(actual.context, expected.context)
    other = randn(2, 40, SIZE)
    gradients = [torch.autograd.grad((read.context * other).sum(), inputs)[0] for read in (actual, expected)]
    equal(*gradients)


@every_direction
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")  # it is compiled on a GPU
def test_the_flexible_kernel_reads_the_same(causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU has its forward pass; it is compiled on a GPU only."""
    monkeypatch.setattr("zoo.attention.flexible._devices", ("cpu",))
    attention = build(causal=causal, window=3, rotary=Rotary).float()
    inputs = randn(2, 40, SIZE).float()
    keep = padding_mask(torch.tensor([40, 23]), 40)[:, 0]
    used = []
    monkeypatch.setattr(
        SelfAttention, "_slice_by_slice", lambda *_, **__: used.append("slices") or pytest.fail("not used")
    )
    with torch.no_grad():
        actual = attention(inputs, keep, weights=False).context
    expected = banded(attention, inputs, keep).context
    equal(actual, expected, 1e-5)


@every_direction
@pytest.mark.parametrize("window", [1, 127, 128, 129, 400])
@pytest.mark.parametrize("size", [1, 128, 300, 1000])
def test_the_flexible_kernel_reads_the_blocks_of_the_band(causal: bool, window: int, size: int) -> None:
    mask = window_mask(torch.ones(1, size, dtype=torch.bool), window=window, causal=causal)
    position = torch.arange(size)
    band = (position[:, None] - position).abs() <= window
    if causal:
        band = band.tril()
    blocks = nn.functional.max_pool2d(band[None, None].float(), 128, ceil_mode=True)
    assert torch.equal(mask.to_dense(), blocks.to(torch.int32))
    assert mask.shape == (1, 1, size, size)


def test_the_blocks_are_found_without_a_mask_of_all_pairs() -> None:
    keep = torch.ones(2, 8192, dtype=torch.bool)
    with Largest() as largest:
        window_mask(keep, window=5, causal=False)
    assert largest.size < 8192


def test_out_of_memory_does_not_disable_the_flexible_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fill(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("no memory")

    monkeypatch.setattr("zoo.attention.flexible._devices", ("cpu",))
    monkeypatch.setattr("zoo.attention.flexible._refused", False)
    monkeypatch.setattr("zoo.attention.flexible._kernel", lambda _: fill)
    with pytest.raises(torch.OutOfMemoryError, match="no memory"):
        build(causal=False, window=3)(randn(2, 40, SIZE), weights=False)
    assert not flexible._refused


def test_without_the_flexible_kernel_a_window_is_read_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is said once, and not tried again."""

    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError("no kernel for this")

    monkeypatch.setattr("zoo.attention.flexible._devices", ("cpu",))
    monkeypatch.setattr("zoo.attention.flexible._refused", False)
    monkeypatch.setattr("zoo.attention.flexible._kernel", refuse)
    attention, inputs = build(causal=False, window=3), randn(2, 40, SIZE)
    with pytest.warns(RuntimeWarning, match="windows are read slice by slice: no kernel for this"):
        first = attention(inputs, weights=False).context
    again = attention(inputs, weights=False).context  # warnings are errors here
    equal(first, banded(attention, inputs, None).context)
    equal(again, first)


@pytest.mark.parametrize("window", [None, 1, 3])
def test_step_by_step_is_all_at_once(window: int | None) -> None:
    """Each hypothesis has a sequence of its own: W is a leading axis."""
    for rotary in (None, Rotary):
        attention = build(causal=True, window=window, rotary=rotary)
        inputs = randn(2, 3, 9, SIZE)
        expected, memory = attention(inputs).context, attention.init_memory(inputs)
        for step in range(9):
            attended, memory = attention.step(inputs[..., step : step + 1, :], memory)
            equal(attended.context, expected[..., step : step + 1, :])


def test_a_selection_whose_steps_have_a_state_is_read_all_at_once() -> None:
    attention = build(causal=True, window=None, selection=LocalMonotonic)
    with pytest.raises(ValueError, match="LocalMonotonic has a state, which a memory does not keep"):
        attention.init_memory(randn(2, 1, SIZE))


@pytest.mark.parametrize("causal", [True, False])
def test_mixed_precision_leaves_float64_alone(causal: bool) -> None:
    """As autocast does."""
    attention, inputs = build(causal=causal, window=None), randn(2, 6, SIZE)
    with torch.autocast("cpu", torch.bfloat16):
        context = attention(inputs).context
    torch.testing.assert_close(context, attention(inputs).context, rtol=0, atol=0)


def test_attention_that_is_not_causal_has_no_steps() -> None:
    with pytest.raises(ValueError, match="needs causal=True"):
        build(causal=False, window=None).init_memory(randn(2, 1, SIZE))


@every_direction
@pytest.mark.gpu
def test_the_compiled_kernel_is_the_slices_on_a_gpu(causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs and gradients, with padding, at two lengths."""
    attention = build(causal=causal, window=3, rotary=Rotary).float().cuda()
    for size in (40, 300):
        keep = padding_mask(torch.tensor([size, 23]), size)[:, 0].cuda()
        found = []
        for devices in (("cuda",), ()):
            monkeypatch.setattr("zoo.attention.flexible._devices", devices)
            inputs = randn(2, size, SIZE).float().cuda().requires_grad_()
            context = attention(inputs, keep, weights=False).context
            (context * keep.unsqueeze(-1)).square().sum().backward()
            found.append((context.detach(), inputs.grad))
        assert not flexible._refused
        for by_kernel, by_slices in zip(*found, strict=True):
            torch.testing.assert_close(by_kernel, by_slices, rtol=1e-3, atol=1e-4)


def test_every_parameter_of_a_window_learns() -> None:
    attention = build(causal=False, window=2).train()
    attention(leaf(randn(2, 70, SIZE)), weights=False).context.square().sum().backward()
    assert all(parameter.grad.any() for parameter in attention.parameters() if parameter.requires_grad)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key_size": 5}, "query_size=8, key_size=5 and value_size=5"),
        ({"window": 0}, "window=0, must be at least 1"),
        (
            {"score": "location", "window": 2},
            "^window=2 slices the sequence, and Location counts positions in it",
        ),
        (
            {"selection": LocalMonotonic, "window": 2},
            "^window=2 slices the sequence, and LocalMonotonic counts positions in it",
        ),
        (
            {"selection": LocalPredictive, "window": 2},
            "^window=2 slices the sequence, and LocalPredictive counts positions in it",
        ),
    ],
)
def test_bad_arguments_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(causal=False, **{"window": None, **changes})  # type: ignore[arg-type]


def test_torch_agrees_on_a_causal_layer() -> None:
    ours = build(causal=True, window=None)
    theirs = nn.MultiheadAttention(SIZE, 2, batch_first=True).double().eval()
    multi_head = ours.attention
    with torch.no_grad():
        theirs.in_proj_weight.copy_(
            torch.cat([multi_head.W_Q.weight, multi_head.W_K.weight, multi_head.W_V.weight])
        )
        theirs.in_proj_bias.copy_(torch.cat([multi_head.W_Q.bias, multi_head.W_K.bias, multi_head.W_V.bias]))
        theirs.out_proj.load_state_dict(multi_head.W_O.state_dict())
    inputs = randn(2, 9, SIZE)
    blocked = ~causal_mask(9, 9)
    equal(ours(inputs).context, theirs(inputs, inputs, inputs, attn_mask=blocked, need_weights=False)[0])
