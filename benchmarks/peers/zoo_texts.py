"""The zoo's side of `text_training.py`, in its own process.

python zoo_texts.py NETWORK SECONDS
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

from texts import CLASSES, DROPOUT, LONGEST, VOCABULARY, WIDTH, WIDTHS, Batch, Network, measure, padded
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from zoo.attention import Dot, Soft
from zoo.core.batch import Padded, grouped_documents
from zoo.core.spec import DataSpec, LabelSpec, TextSpec
from zoo.networks.abcnn import ABCNN
from zoo.networks.attentive_matching import AttentiveMatching, AttentiveReader, ImpatientReader
from zoo.networks.convolutional import ConvolutionalText
from zoo.networks.hierarchical import HierarchicalAttention
from zoo.networks.lstm_attention import LSTMAttention
from zoo.networks.pooling import AttentionPooling, LearnedQuery, Max, OtherText
from zoo.networks.recurrent import GRU, LSTM

TEXT = TextSpec(tokenizer="words", size=VOCABULARY, maximum_length=LONGEST)
SENTENCES = TextSpec(tokenizer="words", size=VOCABULARY, maximum_length=LONGEST, maximum_sentences=40)
LABEL = LabelSpec(tuple(map(str, range(CLASSES))))
TEXTS = DataSpec("benchmark", {"text": TEXT, "label": LABEL})
DOCUMENTS = DataSpec("benchmark", {"text": SENTENCES, "label": LABEL})
PAIRS = DataSpec("benchmark", {"left": TEXT, "right": TEXT, "label": LABEL})
POOLING = partial(AttentionPooling, attention={"score": Dot, "selection": Soft})


class Logits(nn.Module):
    """A network that gives its logits alone."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *batch: Any) -> Tensor:
        """Logits `(B, C)`."""
        logits: Tensor = self.network(*batch).logits
        return logits


def arrange(kind: str, batch: Batch) -> tuple[Any, ...]:
    """What the data module makes of the batch."""
    if kind != "documents":
        return tuple(Padded(*padded(side)) for side in batch)
    (documents,) = batch
    sentences = [sentence for document in documents for sentence in document]
    grouped = grouped_documents(
        [len(document) for document in documents],
        [len(sentence) for sentence in sentences],
        lambda group: Padded(*padded([sentences[number] for number in group])),
    )
    return (grouped,)


def build(name: str, sizes: Network) -> nn.Module:
    """The network of that name."""
    features, hidden, attention = (
        sizes.embedding_size,
        sizes.hidden_size,
        partial(POOLING, query=LearnedQuery),
    )
    network: nn.Module
    match name:
        case "lstm_attention" | "gru_attention":
            network = LSTMAttention(
                spec=TEXTS,
                recurrent=LSTM if name == "lstm_attention" else GRU,
                pooling=attention,
                embedding_size=features,
                hidden_size=hidden,
                layers=1,
                dropout=DROPOUT,
            )
        case "hierarchical":
            network = HierarchicalAttention(
                spec=DOCUMENTS,
                recurrent=GRU,
                word_pooling=attention,
                sentence_pooling=attention,
                embedding_size=features,
                hidden_size=hidden,
                dropout=DROPOUT,
            )
        case "convolutional" | "convolutional_attention":
            attends = name == "convolutional_attention"
            network = ConvolutionalText(
                spec=TEXTS,
                pooling=partial(POOLING, query=OtherText) if attends else Max,
                recurrent=LSTM if attends else None,
                embedding_size=features,
                filters=hidden,
                widths=WIDTHS,
                dropout=DROPOUT,
            )
        case "attentive_reader" | "impatient_reader":
            network = AttentiveMatching(
                spec=PAIRS,
                recurrent=GRU,
                reader=AttentiveReader if name == "attentive_reader" else ImpatientReader,
                attention={"score": Dot, "selection": Soft},
                embedding_size=features,
                hidden_size=hidden,
                dropout=DROPOUT,
            )
        case _:
            network = ABCNN(
                spec=PAIRS,
                input_match=Dot if name in ("abcnn1", "abcnn3") else None,
                pooling_match=Dot if name in ("abcnn2", "abcnn3") else None,
                embedding_size=features,
                filters=hidden,
                width=WIDTH,
                layers=1,
                dropout=DROPOUT,
            )
    return Logits(network)


if __name__ == "__main__":
    measure(build, arrange)
