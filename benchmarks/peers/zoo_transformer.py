"""The zoo's own side: `model=transformer` with its task's loss, in float32 or under bfloat16 autocast."""

import sys
from pathlib import Path

from common import PAD, measure, transformer_sizes

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torch import Tensor, nn

from zoo.attention import ScaledDot, Soft
from zoo.core.batch import Padded, decoder_pair
from zoo.core.spec import DataSpec, TextSpec
from zoo.kernels import linear_cross_entropy
from zoo.networks.positions import Sinusoidal
from zoo.networks.transformer import Transformer


def build(vocabulary: int) -> tuple[torch.nn.Module, object]:
    """The network, and its mean cross-entropy per real token."""
    sizes = transformer_sizes()
    text = TextSpec(tokenizer="shared", size=vocabulary, maximum_length=100)
    network = Transformer(
        spec=DataSpec("benchmark", {"source": text, "target": text}),
        attention={"score": ScaledDot, "selection": Soft},
        positions=Sinusoidal,
        model_size=sizes.model_size,
        feed_forward_size=sizes.feed_forward_size,
        heads=4,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
        dropout=0.1,
        attention_dropout=0.1,
        activation_dropout=0.0,
        activation=nn.ReLU,
        tie_embeddings=True,
    )

    def loss(source: Tensor, source_lengths: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
        inputs, labels = decoder_pair(Padded(target, lengths))
        features = network.project(network(Padded(source, source_lengths), inputs).features)
        total = linear_cross_entropy(features, network.output, labels.ids, padding=PAD, label_smoothing=0.1)
        return total / labels.lengths.sum()

    return network, loss


if __name__ == "__main__":
    measure(build, mixed=sys.argv[4] == "bf16")
