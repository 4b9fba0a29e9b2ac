"""GPT against its equations, its own steps, published sizes and another library's weights."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from zoo.attention import Additive, General, ScaledDot
from zoo.core.spec import DataSpec, TextSpec
from zoo.networks.gpt import Gpt
from zoo.networks.positions import Learned, RotaryPositions, Sinusoidal

CONTEXT = 6


def spec(size: int = 11, context: int = CONTEXT) -> DataSpec:
    return DataSpec("toy", {"text": TextSpec(tokenizer="text", size=size, maximum_length=context)})


def build(data: DataSpec | None = None, **changes: object) -> Gpt:
    torch.manual_seed(0)
    settings: dict[str, object] = {
        "attention": {"score": ScaledDot},
        "positions": partial(Learned, maximum_length=CONTEXT),
        "model_size": 8,
        "feed_forward_size": 12,
        "heads": 2,
        "layers": 2,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation": nn.GELU,
    }
    network = Gpt(spec=data or spec(), **(settings | changes))  # type: ignore[arg-type]
    with torch.no_grad():  # far from where all attend alike
        for weight in network.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return network


def by_hand(network: Gpt, ids: list[int]) -> Tensor:
    """Scores `(T, V)` by Radford et al. 2018, eq. 2, position by position, in float64."""
    weights = {name: one.double() for name, one in network.state_dict().items()}

    def norm(x: Tensor, name: str) -> Tensor:
        scaled = (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + 1e-5)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: Tensor, name: str) -> Tensor:
        return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]

    def gelu(x: Tensor) -> Tensor:
        return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))

    rows = [weights["embed.weight"][token] + weights["positions.vectors"][t] for t, token in enumerate(ids)]
    pre, heads = bool(network.decoder.layers[0].residual_1.pre_norm), 2
    for number in range(2):
        layer = f"decoder.layers.{number}"
        inputs = [norm(x, f"{layer}.residual_1.norm") if pre else x for x in rows]
        read = []
        for t in range(len(ids)):
            parts = []
            for head in range(heads):
                own = slice(4 * head, 4 * head + 4)

                def projected(
                    name: str, place: int, own: slice = own, inputs: list[Tensor] = inputs
                ) -> Tensor:
                    return linear(inputs[place], f"{layer}.self_attention.attention.{name}")[own]  # noqa: B023

                scores = torch.stack([projected("W_Q", t) @ projected("W_K", j) / 2 for j in range(t + 1)])
                values = torch.stack([projected("W_V", j) for j in range(t + 1)])
                parts.append(scores.softmax(0) @ values)
            read.append(linear(torch.cat(parts), f"{layer}.self_attention.attention.W_O"))
        rows = [x + one for x, one in zip(rows, read, strict=True)]
        if not pre:
            rows = [norm(x, f"{layer}.residual_1.norm") for x in rows]
        inputs = [norm(x, f"{layer}.residual_3.norm") if pre else x for x in rows]
        fed = [linear(gelu(linear(x, f"{layer}.feed_forward.0")), f"{layer}.feed_forward.3") for x in inputs]
        rows = [x + one for x, one in zip(rows, fed, strict=True)]
        if not pre:
            rows = [norm(x, f"{layer}.residual_3.norm") for x in rows]
    if pre:
        rows = [norm(x, "decoder.norm") for x in rows]
    return torch.stack(rows) @ weights["embed.weight"].T


@pytest.mark.parametrize("pre_norm", [True, False])
def test_the_equations(pre_norm: bool) -> None:
    network = build(pre_norm=pre_norm).double()
    ids = [4, 7, 2, 9, 4]
    scores = network.output(network(torch.tensor([ids])).hidden)[0]
    torch.testing.assert_close(scores, by_hand(network, ids))


VARIANTS: dict[str, Callable[[], Gpt]] = {
    "learned": build,
    "rotary": partial(build, positions=RotaryPositions),
    "sinusoidal": partial(build, positions=Sinusoidal),
    "post_norm": partial(build, pre_norm=False),
    "window": partial(build, window=2, positions=RotaryPositions),
    "additive": partial(build, attention={"score": Additive}),
    "general": partial(build, attention={"score": General}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_steps_equal_the_window_at_every_prefix_and_slide_beyond_it(name: str) -> None:
    network = VARIANTS[name]().eval()
    tokens = torch.randint(2, 11, (3, 10), generator=torch.Generator().manual_seed(1))
    state = network.init_state(3)
    for place in range(10):
        step = network.step(tokens[:, place : place + 1], state)
        state = step.state
        seen = tokens[:, max(0, place + 1 - CONTEXT) : place + 1]
        expected = network.output(network(seen).hidden[:, -1]).log_softmax(-1)
        torch.testing.assert_close(step.log_probs[:, 0], expected, atol=1e-5, rtol=1e-5)


def test_continuations_of_one_text_are_as_if_alone() -> None:
    network = build().eval()
    state = network.init_state(1)
    state = network.step(torch.tensor([[4]]), state).state
    wide = type(state)(
        state.ids.repeat(1, 2, 1),
        tuple(
            layer._replace(
                cache=layer.cache._replace(
                    projected=layer.cache.projected.repeat(1, 2, 1, 1, 1),
                    values=layer.cache.values.repeat(1, 2, 1, 1, 1),
                )
            )
            for layer in state.layers
        ),
    )
    both = network.step(torch.tensor([[5, 6]]), wide).log_probs
    for place, token in enumerate((5, 6)):
        alone = network.step(torch.tensor([[token]]), state).log_probs[0, 0]
        torch.testing.assert_close(both[0, place], alone)


def test_a_context_that_does_not_slide_ends() -> None:
    network = build(slides=False).eval()
    state = network.init_state(1)
    for _ in range(CONTEXT):
        state = network.step(torch.tensor([[3]]), state).state
    with pytest.raises(ValueError, match="context of 6 tokens"):
        network.step(torch.tensor([[3]]), state)


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_is_seen_ahead_and_everything_learns(name: str) -> None:
    network = VARIANTS[name]()
    tokens = torch.tensor([[4, 5, 6, 7, 8]])
    changed = torch.tensor([[4, 5, 6, 9, 2]])
    torch.testing.assert_close(network(tokens).hidden[:, :3], network(changed).hidden[:, :3])
    network.output(network(tokens).hidden).log_softmax(-1).square().mean().backward()
    for parameter, weight in network.named_parameters():
        if name != "additive" or "W_K.bias" not in parameter:
            assert weight.grad is not None, parameter


@pytest.mark.parametrize(
    ("tokens", "context", "pre_norm", "parameters"),
    [(40_478, 512, False, 116_534_784), (50_257, 1024, True, 124_439_808)],
)
def test_published_sizes(tokens: int, context: int, pre_norm: bool, parameters: int) -> None:
    sizes = {"model_size": 768, "feed_forward_size": 3072, "heads": 12, "layers": 12}
    with torch.device("meta"):
        network = build(
            spec(tokens, context),
            **sizes,
            positions=partial(Learned, maximum_length=context),
            pre_norm=pre_norm,
        )
    assert sum(weight.numel() for weight in network.parameters()) == parameters


def test_matrices_begin_as_in_gpt_2() -> None:
    torch.manual_seed(0)
    network = Gpt(
        spec=spec(200),
        attention={"score": ScaledDot},
        positions=partial(Learned, maximum_length=CONTEXT),
        model_size=64,
        feed_forward_size=256,
        heads=4,
        layers=8,
        dropout=0.0,
        attention_dropout=0.0,
        activation=nn.GELU,
    )
    weights = network.state_dict()
    assert weights["embed.weight"].std() == pytest.approx(0.02, rel=0.05)
    for last in ("self_attention.attention.W_O", "feed_forward.3"):
        assert weights[f"decoder.layers.3.{last}.weight"].std() == pytest.approx(0.005, rel=0.05)
    assert weights["decoder.layers.3.feed_forward.0.weight"].std() == pytest.approx(0.02, rel=0.05)
    assert not weights["decoder.layers.3.feed_forward.3.bias"].any()
    assert network.output.weight is network.embed.weight


def test_windows_beyond_the_context_are_refused() -> None:
    with pytest.raises(ValueError, match="context=5"):
        build(context=5)


def test_positions_reach_the_context() -> None:
    with pytest.raises(ValueError, match=r"maximum_length=6 .* sequences of 7 tokens; lower model\.context"):
        build(context=7)
    with pytest.raises(ValueError, match=r"sequences of 7 tokens; lower data\.maximum_length"):
        build(spec(context=7))
    assert build(context=7, positions=Sinusoidal).context == 7


def test_the_weights_of_another_library_give_its_scores() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=11, n_positions=CONTEXT, n_embd=8, n_layer=2, n_head=2, n_inner=12, attn_pdrop=0.0
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    ours = build(activation=partial(nn.GELU, approximate="tanh")).eval()
    given = theirs.state_dict()
    weights = {
        "embed.weight": given["transformer.wte.weight"],
        "output.weight": given["transformer.wte.weight"],
        "positions.vectors": given["transformer.wpe.weight"],
        "decoder.norm.weight": given["transformer.ln_f.weight"],
        "decoder.norm.bias": given["transformer.ln_f.bias"],
    }
    names = {
        "ln_1": "residual_1.norm",
        "ln_2": "residual_3.norm",
        "attn.c_proj": "self_attention.attention.W_O",
        "mlp.c_fc": "feed_forward.0",
        "mlp.c_proj": "feed_forward.3",
    }
    for number in range(2):
        layer, block = f"decoder.layers.{number}", f"transformer.h.{number}"
        for part in ("weight", "bias"):
            for theirs_name, name in names.items():
                value = given[f"{block}.{theirs_name}.{part}"]
                weights[f"{layer}.{name}.{part}"] = value.T if value.dim() == 2 else value
            parts = given[f"{block}.attn.c_attn.{part}"].t().chunk(3)  # of a vector, too
            for name, value in zip(("W_Q", "W_K", "W_V"), parts, strict=True):
                weights[f"{layer}.self_attention.attention.{name}.{part}"] = value
    ours.load_state_dict(weights)
    tokens = torch.randint(11, (2, CONTEXT))
    torch.testing.assert_close(ours.output(ours(tokens).hidden), theirs(tokens).logits, atol=1e-5, rtol=1e-4)
