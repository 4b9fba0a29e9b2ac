"""One text is read with the other's words as queries (Hermann et al. 2015, section 2.2).

The "attentive reader" reads once, with the vector of the whole other text; the "impatient reader" reads anew
for each of its words. `SelfAttentive` is their control: it reads without a look at the other text.

Shapes: B pairs, L words of the text that is read, M words of the other one, E embedding, H hidden size.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import Attended, Attention, join_readings
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.kernels import Dropout, Linear
from zoo.networks.checks import check_dropouts, check_sizes, require_one_vocabulary
from zoo.networks.embedding import word_vectors
from zoo.networks.lstm_attention import Classified
from zoo.networks.pooling import LearnedQuery, Pooled, Reading
from zoo.networks.recurrent import RecurrentLayer
from zoo.networks.seq2seq import AttentionParts, Encoder, Sizes


class Encoded(NamedTuple):
    """A text: its states `(B, L, H)`, the one behind its last word `(B, H)`, and `keep_mask (B, L)`."""

    states: Tensor
    last: Tensor
    keep_mask: Tensor


class Reader(nn.Module, ABC):
    """Reads one text, perhaps with the other one in mind.

    Args:
        size: H.
        longest: words of the longest text that is read.
        attention: score and selection, completed here.

    Attributes:
        reads_once: whether the text is read once, not anew for each word of the other.
    """

    reads_once: ClassVar[bool] = True

    def __init__(self, *, size: int, longest: int, attention: AttentionParts) -> None:
        super().__init__()
        self.attention: Attention = attention.build(query_size=size, key_size=size, longest=longest)

    @abstractmethod
    def forward(self, text: Encoded, other: Encoded) -> Pooled:
        """The text's vector `(B, H)`, and with which weights it was read."""


class AttentiveReader(Reader):
    """Once: the query is the other text's vector (Hermann et al. 2015, "The Attentive Reader")."""

    def forward(self, text: Encoded, other: Encoded) -> Pooled:
        """See `Reader`."""
        return read_once(self.attention, text, other.last.unsqueeze(1))


class SelfAttentive(Reader):
    """The control: the query is learned, so the text is read the same whatever the other one says."""

    def __init__(self, *, size: int, longest: int, attention: AttentionParts) -> None:
        super().__init__(size=size, longest=longest, attention=attention)
        self.query = LearnedQuery(size=size)

    def forward(self, text: Encoded, other: Encoded) -> Pooled:
        """See `Reader`."""
        return read_once(self.attention, text, self.query(text.last, None))


class ImpatientReader(Reader):
    """Anew for each word: `r_i = read(y_i + W r_{i-1}) + tanh(V r_{i-1})` ("The Impatient Reader").

    The paper's score adds maps of `y_i` and of `r_{i-1}` under one tanh; here the query adds
    them, so that any score will do.

    Args:
        size: H.
        longest: words of the longest text that is read.
        attention: score and selection, completed here.
    """

    reads_once = False

    def __init__(self, *, size: int, longest: int, attention: AttentionParts) -> None:
        super().__init__(size=size, longest=longest, attention=attention)
        self.W, self.V = (Linear(size, size, bias=False) for _ in range(2))

    def forward(self, text: Encoded, other: Encoded) -> Pooled:
        """See `Reader`."""
        memory = self.attention.prepare(text.states, keep_mask=text.keep_mask.unsqueeze(1))
        state = self.attention.init_state(memory)
        vector = torch.zeros_like(other.last)
        steps: list[Attended] = []
        queries = []
        for word, real in zip(other.states.unbind(1), other.keep_mask.unbind(1), strict=True):
            query = (word + self.W(vector)).unsqueeze(1)
            attended = self.attention(query, memory, state)
            state = attended.state
            steps.append(attended)
            queries.append(query)
            vector = torch.where(real.unsqueeze(-1), attended.context[:, 0] + self.V(vector).tanh(), vector)
        return Pooled(vector, Reading(join_readings(steps), torch.cat(queries, 1), other.keep_mask))


def read_once(attention: Attention, text: Encoded, queries: Tensor) -> Pooled:
    """Reads a text with queries `(B, 1, H)`."""
    memory = attention.prepare(text.states, keep_mask=text.keep_mask.unsqueeze(1))
    attended = attention(queries, memory)
    return Pooled(attended.context[:, 0], Reading(attended, queries))


class AttentiveMatching(nn.Module):
    """Encodes both texts, reads the right one with the left one in mind, and compares the two vectors.

    What is compared is `[u; v; |u - v|; u * v]` (Mou et al. 2016, section 3.2) where Hermann et al. add two
    linear maps: they look for a word that answers, we for how two texts stand to each other.

    Args:
        spec: the texts `left` and `right`, and what is asked of them.
        recurrent: `GRU` or `LSTM`, completed here; one encoder reads both texts.
        reader: how the right text is read, completed here.
        attention: score and selection, completed by the reader.
        embedding_size: E.
        embedding_range: of the numbers in the vectors of words as they begin, see `word_vectors`.
        hidden_size: H, of both directions together, and of the layer that compares.
        dropout: on embeddings, and before and behind the layer that compares.

    Raises:
        ValueError: if a size is below 1, the dropout is no probability below 1, or the data has no pairs.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        recurrent: RecurrentLayer,
        reader: Callable[..., Reader],
        attention: Mapping[str, Callable[..., nn.Module]],
        embedding_size: int,
        embedding_range: float = 0.25,
        hidden_size: int,
        dropout: float,
    ) -> None:
        super().__init__()
        check_sizes(embedding_size=embedding_size, hidden_size=hidden_size)
        check_dropouts(dropout=dropout)
        left, right = spec.text("left"), spec.text("right")
        require_one_vocabulary(left, right)
        self.embed = word_vectors(left, embedding_size, embedding_range)
        longest = max(left.maximum_length, right.maximum_length)
        sizes = Sizes(recurrent, embedding_size, hidden_size, 1, 0.0, longest)
        self.encoder = Encoder(sizes=sizes, bidirectional=True, reverse_source=False, skips_padding=True)
        self.reader = reader(size=hidden_size, longest=longest, attention=AttentionParts(**attention))  # type: ignore[arg-type]
        self.dropout = Dropout(dropout)
        self.compare = Linear(4 * hidden_size, hidden_size)
        self.output = Linear(hidden_size, spec.outputs())

    def forward(self, left: Padded, right: Padded) -> Classified:
        """Matches texts `(B, M)` and `(B, L)`."""
        question, text = self._encode(left), self._encode(right)
        vector, reading = self.reader(text, question)
        both = torch.cat([question.last, vector, (question.last - vector).abs(), question.last * vector], -1)
        hidden = self.compare(self.dropout(both)).relu()
        return Classified(self.output(self.dropout(hidden)), () if reading is None else (reading,))

    def _encode(self, text: Padded) -> Encoded:
        states, last = self.encoder(self.dropout(self.embed(text.ids)), text.lengths)
        return Encoded(states, last, text.keep_mask)
