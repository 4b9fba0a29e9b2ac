"""Hierarchical attention: words make sentences, sentences make documents (Yang et al. 2016, section 2.2).

Shapes: B documents, S sentences in the longest, N sentences of all documents together, T words, E embedding,
H hidden size.
"""

from collections.abc import Callable

import torch
from torch import nn

from zoo.core.batch import Documents
from zoo.core.spec import DataSpec
from zoo.kernels import Dropout, Linear
from zoo.kernels.noise import of_parts
from zoo.networks.checks import check_dropouts, check_sizes
from zoo.networks.embedding import word_vectors
from zoo.networks.lstm_attention import Classified, PooledEncoder
from zoo.networks.pooling import Pooling
from zoo.networks.recurrent import RecurrentLayer
from zoo.networks.seq2seq import Sizes


class HierarchicalAttention(nn.Module):
    """A word encoder with word attention, a sentence encoder with sentence attention, and a classifier.

    Sentences are read in groups of like length, so little is computed for padding; their vectors then meet
    again in their documents. Every document has at least one sentence, and every sentence one word.

    Args:
        spec: the documents, and the classes.
        recurrent: `GRU` (as in the paper) or `LSTM`, completed here.
        word_pooling: how words become a sentence, completed here.
        sentence_pooling: how sentences become a document, completed here.
        embedding_size: E.
        embedding_range: of the numbers in the vectors of words as they begin, see `word_vectors`.
        hidden_size: H, of both directions together, at either level.
        dropout: on embeddings, sentences and documents.

    Raises:
        ValueError: if a size is below 1, the dropout is no probability below 1, a pooling asks for a second
            text, or the data has no documents or no labels.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        recurrent: RecurrentLayer,
        word_pooling: Callable[..., Pooling],
        sentence_pooling: Callable[..., Pooling],
        embedding_size: int,
        embedding_range: float = 0.25,
        hidden_size: int,
        dropout: float,
    ) -> None:
        super().__init__()
        check_sizes(embedding_size=embedding_size, hidden_size=hidden_size)
        check_dropouts(dropout=dropout)
        text = spec.text("text")
        if text.maximum_sentences == 1:
            raise ValueError("the data has texts that are not cut into sentences; this model reads documents")
        self.embed = word_vectors(text, embedding_size, embedding_range)
        sizes = Sizes(recurrent, embedding_size, hidden_size, 1, 0.0, text.maximum_length)
        self.words = PooledEncoder(sizes=sizes, pooling=word_pooling)
        sizes = sizes._replace(embedding_size=self.words.feature_size, longest=text.maximum_sentences)
        self.sentences = PooledEncoder(sizes=sizes, pooling=sentence_pooling)
        self.dropout = Dropout(dropout)
        self.output = Linear(self.sentences.feature_size, len(spec.label().classes))

    def forward(self, documents: Documents) -> Classified:
        """Classifies documents."""
        read = []
        sizes = [len(group.ids) for group in documents.groups]
        origins = zip(*(one.split(sizes) for one in documents.origins), strict=True)
        for group, origin in zip(documents.groups, origins, strict=True):
            with of_parts(*origin):  # what is sampled in a sentence does not depend on its group
                read.append(self.words(self.dropout(self.embed(group.ids)), group.lengths))
        sentences = documents.arranged(torch.cat([pooled.vector for pooled in read]))
        document = self.sentences(self.dropout(sentences), documents.lengths)
        readings = tuple(pooled.reading for pooled in read if pooled.reading is not None)
        return Classified(self.output(self.dropout(document.vector)), readings, document.reading)
