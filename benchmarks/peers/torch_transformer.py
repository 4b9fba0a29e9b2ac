"""torch.nn.Transformer, with what it leaves to its users: embeddings, sines, a tied output."""

import math
import sys

import torch
from common import PAD, measure, transformer_sizes
from torch import Tensor, nn
from torch.nn import functional


class Model(nn.Module):
    """The network of the paper, post-norm, around torch's layers."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        sizes = transformer_sizes()
        size = self.size = sizes.model_size
        self.embedding = nn.Embedding(vocabulary, size, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=size**-0.5)
        layers = sizes.layers
        self.layers = nn.Transformer(size, 4, layers, layers, sizes.feed_forward_size, 0.1, batch_first=True)
        angle = torch.arange(512)[:, None] * torch.exp(torch.arange(0, size, 2) * (-math.log(1e4) / size))
        self.register_buffer("waves", torch.stack([angle.sin(), angle.cos()], -1).flatten(1))
        self.dropout = nn.Dropout(0.1)

    def embed(self, ids: Tensor) -> Tensor:
        """`(B, N)` to `(B, N, D)`."""
        return self.dropout(self.embedding(ids) * self.size**0.5 + self.waves[: ids.shape[1]])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits `(B, T, V)`."""
        blocked, length = source == PAD, target.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        features = self.layers(
            self.embed(source),
            self.embed(target),
            tgt_mask=future,
            src_key_padding_mask=blocked,
            memory_key_padding_mask=blocked,
            tgt_is_causal=True,
        )
        return functional.linear(features, self.embedding.weight)


def build(vocabulary: int) -> tuple[torch.nn.Module, object]:
    """The model, and torch's cross-entropy."""
    model = Model(vocabulary)

    def loss(source: Tensor, source_lengths: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
        logits = model(source, target[:, :-1])
        return functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.1
        )

    return model, loss


if __name__ == "__main__":
    measure(build, mixed=sys.argv[4] == "bf16")
