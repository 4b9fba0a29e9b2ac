"""The zoo's own side: the same sizes, Luong's decoder with Bahdanau's score and input feeding."""

import sys
from functools import partial
from pathlib import Path

import torch
from common import PAD, measure
from torch import Tensor
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from zoo.attention import Additive, Soft
from zoo.core.batch import Padded, decoder_pair
from zoo.core.spec import DataSpec, TextSpec
from zoo.networks.recurrent import LSTM
from zoo.networks.seq2seq import LuongDecoder, Seq2Seq


def build(vocabulary: int) -> tuple[torch.nn.Module, object]:
    """The network that `model=seq2seq model/decoder=luong model/recurrent=lstm attention=additive` gives."""
    text = TextSpec(tokenizer="shared", size=vocabulary, maximum_length=100)
    network = Seq2Seq(
        spec=DataSpec("benchmark", {"source": text, "target": text}),
        decoder=partial(LuongDecoder, attention={"score": Additive, "selection": Soft}, input_feeding=True),
        recurrent=LSTM,
        embedding_size=256,
        hidden_size=512,
        layers=1,
        dropout=0.2,
    )
    network.embed_source.weight = network.embed_target.weight  # as the peers: both sides share one matrix

    def loss(source: Tensor, source_lengths: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
        inputs, labels = decoder_pair(Padded(target, lengths))
        logits = network.logits(network(Padded(source, source_lengths), inputs).features)
        total = functional.cross_entropy(
            logits.flatten(0, 1), labels.ids.flatten(), ignore_index=PAD, label_smoothing=0.1, reduction="sum"
        )
        return total / labels.lengths.sum()

    return network, loss


if __name__ == "__main__":
    measure(build)
