"""The four layers of table 1 of Vaswani et al. 2017: equations, reach, and their place in a Transformer."""

import inspect
from collections.abc import Callable
from functools import partial

import pytest
import torch
from network_cases import INPUTS, SOURCES, build_transformer
from torch import Tensor, nn

from zoo.attention import ScaledDot, Soft
from zoo.networks.recurrent import GRU
from zoo.networks.sequence_layers import (
    AttentionLayer,
    BidirectionalLayer,
    ConvolutionalLayer,
    SequenceLayer,
)
from zoo.networks.transformer import Settings

LAYERS: dict[str, Callable[..., SequenceLayer]] = {
    "self_attention": AttentionLayer,
    "restricted": partial(AttentionLayer, window=2),
    "recurrent": partial(BidirectionalLayer, recurrent=GRU),
    "stacked": ConvolutionalLayer,
    "dilated": partial(ConvolutionalLayer, growth=3),
}


def settings(size: int = 8) -> Settings:
    return Settings(
        model_size=size,
        feed_forward_size=12,
        heads=2,
        score=ScaledDot,
        selection=Soft,
        head_key_size=None,
        head_value_size=None,
        rotary=None,
        window=None,
        activation=nn.ReLU,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        pre_norm=False,
    )


def build(name: str, number: int = 0, size: int = 8) -> SequenceLayer:
    torch.manual_seed(number)
    return LAYERS[name](settings=settings(size), number=number).double()


def randn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def reached(name: str, layers: int, length: int) -> list[int]:
    """The positions that the middle one depends on, behind some layers."""
    inputs = randn(1, length, 8).requires_grad_()
    hidden = inputs
    for number in range(layers):
        hidden = build(name, number)(hidden).context
    (gradient,) = torch.autograd.grad(hidden[0, length // 2].sum(), inputs)
    return gradient[0].abs().amax(-1).nonzero().flatten().tolist()


@pytest.mark.parametrize(("name", "growth"), [("stacked", 1), ("dilated", 3)])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_convolution_is_its_equation(name: str, growth: int, number: int) -> None:
    layer, inputs = build(name, number), randn(2, 11, 8)
    assert isinstance(layer, ConvolutionalLayer)
    found = layer(inputs).context
    filters, bias = layer.filters.weight, layer.filters.bias
    assert bias is not None
    for position in range(11):
        total = bias.expand(2, -1)
        for place in range(3):
            near = position + (place - 1) * growth**number
            if 0 <= near < 11:
                total = total + inputs[:, near] @ filters[:, :, place].T
        torch.testing.assert_close(found[:, position], layer.W_O(total.relu()))


def test_a_recurrent_layer_reads_in_both_directions() -> None:
    layer, inputs = build("recurrent"), randn(2, 7, 8)
    forward, backward = (direction.layer for direction in layer.recurrent.layers[0])
    expected = torch.cat([forward(inputs)[0], backward(inputs.flip(1))[0].flip(1)], -1)
    torch.testing.assert_close(layer(inputs).context, expected)
    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    torch.testing.assert_close(layer(inputs, mask).context[1, :4], layer(inputs[1:, :4]).context[0])


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_reach_grows_as_the_table_says(layers: int) -> None:
    length = 41
    halves = {"self_attention": length, "recurrent": length, "restricted": 2 * layers, "stacked": layers}
    halves["dilated"] = (3**layers - 1) // 2
    for name, half in halves.items():
        near = range(max(0, length // 2 - half), min(length, length // 2 + half + 1))
        assert reached(name, layers, length) == list(near), name


def test_parameters_are_about_equal() -> None:
    counts = [sum(part.numel() for part in build(name, size=64).parameters()) for name in LAYERS]
    assert max(counts) < 1.2 * min(counts)


@pytest.mark.parametrize("width", [0, 2, 4])
def test_a_filter_has_a_middle(width: int) -> None:
    with pytest.raises(ValueError, match="width must be"):
        ConvolutionalLayer(settings=settings(), number=0, width=width)


def test_the_distance_between_filters_has_limits() -> None:
    with pytest.raises(ValueError, match="growth must be at most width=3, got 4"):
        ConvolutionalLayer(settings=settings(), number=0, growth=4)
    inputs, found = randn(2, 11, 8), []
    for longest in (None, 11):
        torch.manual_seed(0)
        layer = ConvolutionalLayer(settings=settings()._replace(longest=longest), number=5, growth=3)
        found.append(layer.double()(inputs).context)
    assert layer.filters.dilation == (11,), "not 243"
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


def test_a_refusal_names_the_part_or_the_setting() -> None:
    with pytest.raises(ValueError, match="AttentionLayer: window=0, must be at least 1"):
        AttentionLayer(settings=settings(), number=0, window=0)
    with pytest.raises(ValueError, match=r"model_size must be even, .* got 9"):
        BidirectionalLayer(settings=settings(9), number=0, recurrent=GRU)


def test_the_layer_is_all_that_differs_in_the_encoder() -> None:
    plain = build_transformer()
    for name, layer in LAYERS.items():
        network = build_transformer(layer=layer)
        kinds = [type(one.self_attention) for one in network.encoder.layers]
        assert kinds == [layer.func if isinstance(layer, partial) else layer] * 2, name
        others = {key for key in network.state_dict() if "encoder" not in key or "self_attention" not in key}
        assert others == {
            key for key in plain.state_dict() if "encoder" not in key or "self_attention" not in key
        }
        maps = network.attention_maps(SOURCES, INPUTS)
        assert ("encoder" in maps) == (kinds[0] is AttentionLayer)
        assert {"decoder", "cross"} <= maps.keys()


def test_self_attention_as_a_layer_is_the_transformers_own() -> None:
    plain, network = build_transformer().double(), build_transformer(layer=AttentionLayer).double()
    weights = {
        key.replace("self_attention.", "self_attention.self_attention.")
        if key.startswith("encoder")
        else key: value
        for key, value in plain.state_dict().items()
    }
    network.load_state_dict(weights)
    torch.testing.assert_close(network(SOURCES, INPUTS).features, plain(SOURCES, INPUTS).features)


def test_every_layer_has_the_same_call() -> None:
    calls = {inspect.signature(type(build(name)).forward) for name in LAYERS}
    assert len(calls) == 1
