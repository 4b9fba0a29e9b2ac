"""OpenNMT-py 3.5: bidirectional LSTM 256 per direction, LSTM 512, Bahdanau's score, input feeding."""

import sys
from types import ModuleType

import torch
from common import PAD, measure
from torch import nn

sys.modules.setdefault("spacy", ModuleType("spacy"))  # imported by one of its text transforms, not used here

from onmt.decoders.decoder import InputFeedRNNDecoder  # noqa: E402
from onmt.encoders.rnn_encoder import RNNEncoder  # noqa: E402
from onmt.models.model import NMTModel  # noqa: E402
from onmt.modules.embeddings import Embeddings  # noqa: E402


def build(vocabulary: int) -> tuple[torch.nn.Module, object]:
    """The peer's own modules, put together as its model builder does."""
    embeddings = Embeddings(256, vocabulary, PAD, dropout=0.2)
    encoder = RNNEncoder("LSTM", True, 1, 512, dropout=0.2, embeddings=embeddings)
    decoder = InputFeedRNNDecoder("LSTM", True, 1, 512, attn_type="mlp", dropout=0.2, embeddings=embeddings)
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(512, vocabulary)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum", label_smoothing=0.1)

    def loss(
        source: torch.Tensor, source_lengths: torch.Tensor, target: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        order = source_lengths.argsort(descending=True)  # its packing wants sorted rows
        outputs, _ = model(source[order][:, :, None], target[order][:, :, None], source_lengths[order])
        scores = model.generator(outputs).flatten(0, 1)
        return criterion(scores, target[order][:, 1:].flatten()) / (lengths - 1).sum()

    return model, loss


if __name__ == "__main__":
    measure(build)
