"""The zoo's own side: the decoder of `model=show_attend_tell` with its task's loss, on given annotations."""

import sys
from pathlib import Path

from captions import SIZE, VOCABULARY, Grid, Loss, measure
from common import PAD

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torch import Tensor, nn

from zoo.attention import Additive, Soft
from zoo.attention.regularizers import doubly_stochastic_penalty
from zoo.core.batch import Padded, decoder_pair
from zoo.core.spec import DataSpec, ImageSpec, TextSpec
from zoo.kernels import linear_cross_entropy
from zoo.networks.encoders import ImageEncoder
from zoo.networks.show_attend_tell import AttentiveDecoder, ShowAttendTell


class Given(ImageEncoder):
    """Annotations that are there already."""

    name = "given"

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self.side, self.feature_size = grid

    def grid_size(self, height: int, width: int) -> tuple[int, int]:
        """See `ImageEncoder`."""
        return self.side, self.side

    def forward(self, images: Tensor) -> Tensor:
        """See `ImageEncoder`."""
        return images


def build(grid: Grid) -> tuple[nn.Module, Loss]:
    """The network, and cross-entropy and doubly stochastic penalty per token."""
    network = ShowAttendTell(
        spec=DataSpec(
            "benchmark",
            {
                "image": ImageSpec(channels=3, height=224, width=224),
                "target": TextSpec(tokenizer="words", size=VOCABULARY, maximum_length=100),
            },
        ),
        encoder=lambda channels: Given(grid),
        decoder=lambda sizes: AttentiveDecoder(sizes=sizes, attention={"score": Additive, "selection": Soft}),
        embedding_size=SIZE,
        hidden_size=SIZE,
        dropout=0.5,
    )

    def loss(annotations: Tensor, captions: Tensor) -> Tensor:
        inputs, labels = decoder_pair(Padded(captions, torch.full((len(captions),), captions.shape[1])))
        decoded = network.decode(network.encode(annotations), inputs)
        total = linear_cross_entropy(
            network.project(decoded.features), network.output, labels.ids, padding=PAD, label_smoothing=0.0
        )
        assert decoded.weights is not None
        penalty = doubly_stochastic_penalty(decoded.weights.float(), labels.keep_mask)
        return (total + len(captions) * penalty) / labels.lengths.sum()

    return network, loss


if __name__ == "__main__":
    measure(build, fused=True)  # as conf/optimizer/adam.yaml
