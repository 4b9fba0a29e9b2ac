"""A text classifier: a recurrent network in both directions, and pooling over its states.

With `AttentionPooling` and a learned query it is the network of Zhou et al. 2016 (with the keys of Yang et
al. 2016), with several hops that of Lin et al. 2017; the other poolings are its controls.

Shapes: B texts, T words, E embedding, H hidden size.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from zoo.core.batch import Padded, real_positions
from zoo.core.spec import DataSpec, TextSpec
from zoo.kernels import Dropout, Linear
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.embedding import word_vectors
from zoo.networks.pooling import Pooled, Pooling, Reading
from zoo.networks.recurrent import RecurrentLayer
from zoo.networks.seq2seq import Encoder, Sizes


class Classified(NamedTuple):
    """The classes of a batch of texts, and what attention read.

    Attributes:
        logits: `(B, C)`, scores of C classes.
        readings: what attention read of words: of a text one reading, or one for each width of filters; of
            documents one for each group of sentences. None without attention over words.
        over_sentences: what it read of the sentences of documents; None without attention over sentences.
    """

    logits: Tensor
    readings: tuple[Reading, ...] = ()
    over_sentences: Reading | None = None


def require_one_text(pooling: Pooling) -> None:
    """Refuses a pooling that asks for a second text, in a network that reads one.

    Raises:
        ValueError: the pooling asks for it.
    """
    if pooling.needs_other:
        raise ValueError(
            "query: OtherText asks for a second text, and this network reads one text;"
            " take model/query=learned or model/query=last_state, or for pairs of texts"
            " model=attentive_matching, whose model/reader=attentive reads one text with the other's vector"
        )


def require_texts(text: TextSpec) -> None:
    """Refuses documents, in a network that reads one text.

    Raises:
        ValueError: they are documents.
    """
    if text.maximum_sentences > 1:
        raise ValueError(
            "the data has documents of sentences; this model reads texts that are not cut into any"
        )


class PooledEncoder(nn.Module):
    """Reads sequences in both directions and pools the states into one vector each.

    Args:
        sizes: of the recurrent layers.
        pooling: how the states become one vector, completed here.

    Attributes:
        feature_size: F.

    Raises:
        ValueError: the pooling asks for a second text.
    """

    def __init__(self, *, sizes: Sizes, pooling: Callable[..., Pooling]) -> None:
        super().__init__()
        self.encoder = Encoder(sizes=sizes, bidirectional=True, reverse_source=False, skips_padding=True)
        self.pooling = pooling(size=sizes.hidden_size, longest=sizes.longest)
        require_one_text(self.pooling)
        self.feature_size = self.pooling.feature_size

    def forward(self, inputs: Tensor, lengths: Tensor) -> Pooled:
        """Sequences `(N, T, E)` of these lengths `(N,)` to vectors `(N, F)`."""
        states, last = self.encoder(inputs, lengths)
        pooled: Pooled = self.pooling(states, real_positions(lengths, inputs.shape[1]), last)
        return pooled


class LSTMAttention(nn.Module):
    """Embeds words, reads them in both directions, pools the states and classifies the vector.

    Args:
        spec: the text, and the classes.
        recurrent: `GRU` or `LSTM`, completed here.
        pooling: how the states become one vector, completed here.
        embedding_size: E.
        embedding_range: of the numbers in the vectors of words as they begin, see `word_vectors`.
        hidden_size: H, of both directions together.
        layers: number of recurrent layers.
        dropout: on embeddings, between layers and on the vector.

    Raises:
        ValueError: if a size is below 1, the dropout is no probability below 1, the pooling asks for a second
            text, or the data has no text, documents in its place, or no labels.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        recurrent: RecurrentLayer,
        pooling: Callable[..., Pooling],
        embedding_size: int,
        embedding_range: float = 0.25,
        hidden_size: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        check_sizes(embedding_size=embedding_size, hidden_size=hidden_size, layers=layers)
        check_dropouts(dropout=dropout)
        text = spec.text("text")
        require_texts(text)
        self.embed = word_vectors(text, embedding_size, embedding_range)
        sizes = Sizes(recurrent, embedding_size, hidden_size, layers, dropout, text.maximum_length)
        self.words = PooledEncoder(sizes=sizes, pooling=pooling)
        self.dropout = Dropout(dropout)
        self.output = Linear(self.words.feature_size, len(spec.label().classes))

    def forward(self, text: Padded) -> Classified:
        """Classifies texts `(B, T)`."""
        vector, reading = self.words(self.dropout(self.embed(text.ids)), text.lengths)
        return Classified(self.output(self.dropout(vector)), () if reading is None else (reading,))
