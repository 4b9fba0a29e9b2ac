"""Operations counted beside counts by hand."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.attention import Additive, LearnedPolicy, ScaledDot, Soft
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec, TextSpec
from zoo.kernels import linear_cross_entropy
from zoo.networks.encoders import ImageEncoder
from zoo.networks.positions import Sinusoidal
from zoo.networks.ram import RecurrentAttentionModel
from zoo.networks.recurrent import GRU, LSTM, Rectified
from zoo.networks.seq2seq import LuongDecoder, Seq2Seq
from zoo.networks.show_attend_tell import AttentiveDecoder, ShowAttendTell
from zoo.networks.transformer import Transformer
from zoo.runtime.flops import flop_counter, peak_flops, peak_of

SENTENCES, SOURCE, TARGET, WORDS, SIZE = 3, 7, 5, 50, 16


def counted(compute: Callable[[], Tensor]) -> int:
    """Operations of a forward and a backward pass."""
    with flop_counter() as counter:
        compute().backward()
    total: int = counter.get_total_flops()
    return total


def spec() -> DataSpec:
    text = TextSpec(tokenizer="t", size=WORDS, maximum_length=30)
    return DataSpec("d", {"source": text, "target": text})


def sentences(length: int) -> Padded:
    return Padded(torch.randint(4, WORDS, (SENTENCES, length)), torch.full((SENTENCES,), length))


def loss_of(network: Any) -> Callable[[], Tensor]:
    source, inputs, labels = sentences(SOURCE), sentences(TARGET), sentences(TARGET).ids

    def loss() -> Tensor:
        features = network.project(network(source, inputs).features)
        return linear_cross_entropy(features, network.output, labels, padding=0)

    return loss


def test_a_transformer() -> None:
    hidden, layers = 24, 2
    network = Transformer(
        spec=spec(),
        attention={"score": ScaledDot, "selection": Soft},
        positions=Sinusoidal,
        model_size=SIZE,
        feed_forward_size=hidden,
        heads=4,
        encoder_layers=layers,
        decoder_layers=layers,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation=nn.ReLU,
        tie_embeddings=True,
    )
    # A sentence's multiplications: positions through the weights, pairs of positions in both products.
    square, forward = SIZE * SIZE, 2 * SIZE * hidden
    encoder = SOURCE * (4 * square + forward) + 2 * SOURCE * SOURCE * SIZE
    crossing = TARGET * 2 * square + SOURCE * 2 * square + 2 * TARGET * SOURCE * SIZE
    decoder = TARGET * (4 * square + forward) + 2 * TARGET * TARGET * SIZE + crossing
    by_hand = SENTENCES * (layers * (encoder + decoder) + TARGET * SIZE * WORDS)
    assert counted(loss_of(network)) == 3 * 2 * by_hand


@pytest.mark.parametrize(("recurrent", "gates", "left_out"), [(GRU, 3, 1), (LSTM, 4, 0)])
def test_a_recurrent_layer(recurrent: Any, gates: int, left_out: int) -> None:
    """A CPU runs a GRU step by step, and takes no gradient of its first state."""
    layer = recurrent(input_size=6, hidden_size=SIZE)
    inputs = torch.randn(SENTENCES, SOURCE, 6, requires_grad=True)
    by_hand = SENTENCES * SOURCE * gates * (6 * SIZE + SIZE * SIZE)
    of_first_state = left_out * SENTENCES * gates * SIZE * SIZE
    assert counted(lambda: layer(inputs).sum()) == 2 * (3 * by_hand - of_first_state)


def test_a_recurrent_layer_of_a_gpu() -> None:
    counter = flop_counter()
    weights = [torch.Size(shape) for shape in ((64, 6), (64, 16), (64,), (64,))]
    for name, passes in (("_cudnn_rnn", 1), ("_cudnn_rnn_backward", 2)):
        count = counter.flop_registry[getattr(torch.ops.aten, name)]
        inputs, stacked = torch.empty(3, 7, 6), [torch.empty(shape) for shape in weights]
        assert count(inputs, stacked, 4, out_val=None) == passes * 2 * 3 * 7 * 64 * (6 + 16)


def test_fused_attention_and_a_fused_linear_layer_of_a_cpu() -> None:
    query, key, value = (torch.randn(2, 3, 8, SIZE, requires_grad=True) for _ in range(3))
    products = 2 * 3 * 8 * 8 * SIZE  # in each of the two of the forward pass

    def attend() -> Tensor:
        return nn.functional.scaled_dot_product_attention(query, key, value).sum()

    assert counted(attend) == 2 * products * (2 + 5), "the backward pass computes the weights again"
    with flop_counter() as counter:
        torch.ops.mkldnn._linear_pointwise(torch.randn(5, 7, 6), torch.randn(4, 6), None, "none", [], "")
    assert counter.get_total_flops() == 2 * 5 * 7 * 6 * 4


def test_a_recurrent_encoder_and_decoder() -> None:
    embedded = 8
    network = Seq2Seq(
        spec=spec(),
        decoder=partial(LuongDecoder, attention={"score": ScaledDot, "selection": Soft}, input_feeding=False),
        recurrent=LSTM,
        embedding_size=embedded,
        hidden_size=SIZE,
        layers=1,
        dropout=0.0,
    )
    half = SIZE // 2
    encoder = SOURCE * 2 * 4 * half * (embedded + half)
    start = SIZE * 2 * SIZE  # the decoder's first state and cell, from the encoder's last
    decoder = TARGET * (4 * SIZE * (embedded + SIZE) + 2 * SIZE * SIZE + SIZE * WORDS)
    by_hand = SENTENCES * (encoder + start + decoder + 2 * TARGET * SOURCE * SIZE)
    bias = 2 * SENTENCES * TARGET * WORDS  # whose gradient is a product, too
    assert counted(loss_of(network)) == 3 * 2 * by_hand + bias


def test_a_captioner() -> None:
    """Each word looks at all places, one after the other."""
    images, side, depth, embedded, looked_for = 3, 2, 6, 8, 10
    words, places = TARGET, side * side
    network = ShowAttendTell(
        spec=DataSpec("d", {**spec().fields, "image": ImageSpec(depth, side, side)}),
        encoder=_Grid,
        decoder=partial(
            AttentiveDecoder,
            attention={"score": partial(Additive, hidden_size=looked_for), "selection": Soft},
        ),
        embedding_size=embedded,
        hidden_size=SIZE,
        dropout=0.0,
    )
    grid = torch.randn(images, depth, side, side, requires_grad=True)

    def loss() -> Tensor:
        features = network(grid, sentences(words)).features
        return linear_cross_entropy(features, network.output, sentences(words).ids, padding=0)

    once = 2 * depth * SIZE + places * depth * looked_for  # the first state, the places' keys
    lstm = 4 * SIZE * (embedded + SIZE + depth)
    reading = SIZE * looked_for + places * depth + SIZE  # the query, the weighted sum, its gate
    output = (SIZE + depth) * embedded + embedded * WORDS
    scores = words * places * looked_for  # whose backward pass has one product, not two
    bias = words * WORDS  # whose gradient is a product, too
    by_hand = 3 * (once + words * (lstm + reading + output)) + 2 * scores + bias
    assert counted(loss) == 2 * images * by_hand


class _Grid(ImageEncoder):
    """Images that are grids already."""

    def __init__(self, *, channels: int) -> None:
        super().__init__()
        self.feature_size = channels

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        return height, width

    def forward(self, images: Tensor) -> Tensor:
        return images


def test_glimpses() -> None:
    glimpses, images = 3, 4
    network = RecurrentAttentionModel(
        spec=DataSpec("d", {"image": ImageSpec(1, 12, 12), "label": LabelSpec(tuple("abcd"))}),
        policy=partial(LearnedPolicy, std=0.2),
        recurrent=Rectified,
        glimpses=glimpses,
        glimpse_size=4,
        scales=1,
        glimpse_hidden_size=8,
        hidden_size=SIZE,
    )
    weights = {name: weight.numel() for name, weight in network.named_parameters() if weight.ndim == 2}
    action = weights.pop("action.weight")
    with flop_counter() as counter, torch.no_grad():
        network.recognise(torch.rand(images, 1, 12, 12), sample=True)
    assert counter.get_total_flops() == 2 * images * (glimpses * sum(weights.values()) + action)


@pytest.mark.parametrize(
    ("card", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA H200", 989e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA A10", 125e12),
        ("NVIDIA A10G", None),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L4", 121e12),
        ("Tesla T4", 65e12),
        ("Tesla V100-SXM2-16GB", 125e12),
        ("NVIDIA GeForce RTX 4090", 165e12),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA GeForce GTX 1080", None),
    ],
)
def test_cards_are_known_by_their_whole_names(card: str, peak: float | None) -> None:
    assert peak_of(card) == peak


def test_a_processor_has_no_peak() -> None:
    assert peak_flops(torch.device("cpu")) is None
