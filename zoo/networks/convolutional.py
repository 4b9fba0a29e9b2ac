"""A convolutional text classifier (Kim 2014), with pooling over time or attention in its place.

Shapes: B texts, T words, E embedding, F filters of each width.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import nn

from zoo.core.batch import Padded, real_positions
from zoo.core.spec import DataSpec
from zoo.kernels import Dropout, Linear
from zoo.kernels.wide_convolution import wide_convolutions
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.embedding import word_vectors
from zoo.networks.lstm_attention import Classified, require_texts
from zoo.networks.pooling import Pooling
from zoo.networks.recurrent import RecurrentLayer
from zoo.networks.seq2seq import Encoder, Sizes


class ConvolutionalText(nn.Module):
    """Filters of several widths over the embedded words, pooling over each, and a classifier.

    `c_i = Rect(W x_{i:i+w-1} + b)` (eq. 2). The text stands between zeros, so that each filter also sees its
    first and its last words with nothing beside them (a "wide" convolution).

    Args:
        spec: the text, and the classes.
        pooling: how the features `c_i` of a width become one vector, completed here.
        recurrent: `GRU` or `LSTM`, completed here; its last state, in both directions, is the query of
            attention over features, `OtherText` of the pooling. None for a pooling without it.
        embedding_size: E.
        embedding_range: of the numbers in the vectors of words as they begin, see `word_vectors`.
        filters: F, of each width.
        widths: words that a filter sees.
        dropout: on the vector (section 3.1).
        embedding_dropout: on embeddings.

    Raises:
        ValueError: if a size is below 1, a dropout is no probability below 1, no width is given, the pooling
            and `recurrent` do not go together, or the data has no text, documents in its place, or no labels.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        pooling: Callable[..., Pooling],
        recurrent: RecurrentLayer | None = None,
        embedding_size: int,
        embedding_range: float = 0.25,
        filters: int,
        widths: Sequence[int],
        dropout: float,
        embedding_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not widths:
            raise ValueError("widths is empty: a network needs at least one width of filters")
        check_sizes(embedding_size=embedding_size, filters=filters, **{f"widths: {w}": w for w in widths})
        check_dropouts(dropout=dropout, embedding_dropout=embedding_dropout)
        text = spec.text("text")
        require_texts(text)
        self.embed = word_vectors(text, embedding_size, embedding_range)
        self.filters = nn.ModuleList(
            nn.Conv1d(embedding_size, filters, width, padding=width - 1) for width in widths
        )
        longest = text.maximum_length + max(widths) - 1
        self.pooling = nn.ModuleList(pooling(size=filters, longest=longest) for _ in widths)
        _check_query(next(iter(self.pooling)), recurrent)  # type: ignore[arg-type]  # all are alike
        sizes = recurrent and Sizes(recurrent, embedding_size, filters, 1, 0.0, text.maximum_length)
        self.sentence_vector = sizes and Encoder(
            sizes=sizes, bidirectional=True, reverse_source=False, skips_padding=True
        )
        self.embedding_dropout, self.dropout = Dropout(embedding_dropout), Dropout(dropout)
        pooled = sum(cast(Pooling, part).feature_size for part in self.pooling)
        self.output = Linear(pooled, len(spec.label().classes))

    def forward(self, text: Padded) -> Classified:
        """Classifies texts `(B, T)`."""
        embedded = self.embedding_dropout(self.embed(text.ids))
        query = self.sentence_vector and self.sentence_vector(embedded, text.lengths)[1]
        read = []
        found = wide_convolutions(embedded, text.lengths, cast(Sequence[nn.Conv1d], self.filters))
        for features, pooling in zip(found, self.pooling, strict=True):
            features = features.relu()
            size = features.shape[1]  # T + w - 1: every text has w - 1 more features than words
            keep_mask = real_positions(text.lengths + size - text.ids.shape[1], size)
            last = features[:, -1]  # no pooling here uses it
            read.append(pooling(features, keep_mask, last, query))
        readings = tuple(pooled.reading for pooled in read if pooled.reading is not None)
        return Classified(
            self.output(self.dropout(torch.cat([pooled.vector for pooled in read], -1))), readings
        )


def _check_query(pooling: Pooling, recurrent: RecurrentLayer | None) -> None:
    """Refuses a pooling that asks for what the network does not have, and a vector that no pooling asks for.

    Raises:
        ValueError: they do not go together.
    """
    if pooling.needs_last:
        raise ValueError(
            "pooling by the last state, or with it as the query, needs a recurrent network, and filters"
            " have no state; take model/pooling=max, or model/pooling=attention with model/query=learned"
        )
    if pooling.needs_other and recurrent is None:
        raise ValueError(
            "recurrent must be GRU or LSTM, because the query is the sentence vector that it makes, got None;"
            " take model/recurrent=gru"
        )
    if recurrent is not None and not pooling.needs_other:
        raise ValueError(
            "recurrent must be left out, because nothing asks for the sentence vector that it makes;"
            " take model/pooling=attention model/query=other_text with it"
        )
