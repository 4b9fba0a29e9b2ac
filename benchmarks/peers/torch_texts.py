"""Networks that classify and match texts as mostly written: padded batches, and loops over sentences.

python torch_texts.py NETWORK SECONDS
"""

from typing import Any

import torch
import torch.nn.functional as F
from texts import CLASSES, DROPOUT, LONGEST, PAD, VOCABULARY, WIDTH, WIDTHS, Batch, Network, measure, padded
from torch import Tensor, nn


def arrange(kind: str, batch: Batch) -> tuple[Any, ...]:
    """Ids padded to the longest text; of documents `(B, S, T)`, padded to the longest sentence."""
    if kind != "documents":
        return tuple(padded(side)[0] for side in batch)
    (documents,) = batch
    longest = max(map(len, documents))
    size = max(len(sentence) for document in documents for sentence in document)
    ids = torch.full((len(documents), longest, size), PAD)
    for row, document in zip(ids, documents, strict=True):
        for place, sentence in zip(row, document, strict=False):
            place[: len(sentence)] = torch.tensor(sentence)
    return (ids,)


class Attention(nn.Module):
    """Yang et al. 2016, eq. 5 to 7; the query is learned, or given."""

    def __init__(self, size: int, learned: bool = True) -> None:
        super().__init__()
        self.keys = nn.Linear(size, size)
        self.query = nn.Linear(size, 1, bias=False) if learned else None

    def forward(self, states: Tensor, mask: Tensor, query: Tensor | None = None) -> Tensor:
        """`(B, T, D)` to `(B, D)`."""
        keys = torch.tanh(self.keys(states))
        if self.query is not None:
            scores = self.query(keys).squeeze(-1)
        else:
            scores = torch.bmm(keys, query.unsqueeze(-1)).squeeze(-1)
        weights = F.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
        return torch.bmm(weights.unsqueeze(1), states).squeeze(1)


class RecurrentAttention(nn.Module):
    """Zhou et al. 2016."""

    def __init__(self, sizes: Network, layer: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, sizes.embedding_size, padding_idx=PAD)
        self.recurrent = layer(
            sizes.embedding_size, sizes.hidden_size // 2, batch_first=True, bidirectional=True
        )
        self.attention = Attention(sizes.hidden_size)
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(sizes.hidden_size, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of `(B, T)`."""
        states, _ = self.recurrent(self.dropout(self.embed(ids)))
        return self.output(self.dropout(self.attention(states, ids != PAD)))


class Hierarchical(nn.Module):
    """Yang et al. 2016, one sentence of each document after the other."""

    def __init__(self, sizes: Network) -> None:
        super().__init__()
        size = sizes.hidden_size
        self.embed = nn.Embedding(VOCABULARY, sizes.embedding_size, padding_idx=PAD)
        self.words = nn.GRU(sizes.embedding_size, size // 2, batch_first=True, bidirectional=True)
        self.word_attention = Attention(size)
        self.sentences = nn.GRU(size, size // 2, batch_first=True, bidirectional=True)
        self.sentence_attention = Attention(size)
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(size, CLASSES)

    def forward(self, documents: Tensor) -> Tensor:
        """Logits of `(B, S, T)`."""
        vectors = []
        for ids in documents.permute(1, 0, 2):
            states, _ = self.words(self.dropout(self.embed(ids)))
            vectors.append(self.word_attention(states, ids != PAD))
        states, _ = self.sentences(self.dropout(torch.stack(vectors, 1)))
        mask = (documents != PAD).any(2)
        return self.output(self.dropout(self.sentence_attention(states, mask)))


class Convolutional(nn.Module):
    """Kim 2014, with the largest value of each filter, or with an LSTM's last states as attention's query."""

    def __init__(self, sizes: Network, attends: bool) -> None:
        super().__init__()
        size, filters = sizes.embedding_size, sizes.hidden_size
        self.embed = nn.Embedding(VOCABULARY, size, padding_idx=PAD)
        self.filters = nn.ModuleList(nn.Conv1d(size, filters, width, padding=width - 1) for width in WIDTHS)
        self.recurrent = self.attention = None
        if attends:
            self.recurrent = nn.LSTM(size, filters // 2, batch_first=True, bidirectional=True)
            self.attention = nn.ModuleList(Attention(filters, learned=False) for _ in WIDTHS)
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(len(WIDTHS) * filters, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of `(B, T)`."""
        embedded = self.embed(ids)
        columns = embedded.transpose(1, 2)
        features = [F.relu(convolution(columns)) for convolution in self.filters]
        if self.recurrent is None:
            pooled = [F.max_pool1d(found, found.shape[2]).squeeze(2) for found in features]
        else:
            query = self.recurrent(embedded)[1][0].transpose(0, 1).flatten(1)
            pooled = [
                attention(
                    found.transpose(1, 2),
                    F.pad(ids != PAD, (found.shape[2] - ids.shape[1], 0), value=True),
                    query,
                )
                for attention, found in zip(self.attention, features, strict=True)
            ]
        return self.output(self.dropout(torch.cat(pooled, 1)))


class ABCNN(nn.Module):
    """Yin et al. 2016, one block, on padded pairs."""

    def __init__(self, sizes: Network, at_input: bool, at_pooling: bool) -> None:
        super().__init__()
        size, self.at_pooling = sizes.embedding_size, at_pooling
        self.embed = nn.Embedding(VOCABULARY, size, padding_idx=PAD)
        self.W = nn.Parameter(torch.randn(LONGEST, size) * LONGEST**-0.5) if at_input else None
        self.convolution = nn.Conv2d(1 + at_input, sizes.hidden_size, (WIDTH, size), padding=(WIDTH - 1, 0))
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(4, CLASSES)

    @staticmethod
    def match(left: Tensor, right: Tensor) -> Tensor:
        """`x · y` of all columns `(B, L, D)`."""
        return torch.bmm(left, right.transpose(1, 2))

    @staticmethod
    def alike(left: Tensor, right: Tensor) -> list[Tensor]:
        """Cosine and `1 / (1 + |u - v|)`."""
        return [F.cosine_similarity(left, right), 1 / (1 + F.pairwise_distance(left, right))]

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Logits of pairs `(B, L_0)` and `(B, L_1)`."""
        masks = [(ids != PAD).unsqueeze(2).float() for ids in (left, right)]
        sides = [self.dropout(self.embed(ids)) * mask for ids, mask in zip((left, right), masks, strict=True)]
        known = self.alike(*(side.sum(1) / mask.sum(1) for side, mask in zip(sides, masks, strict=True)))
        channels = [side.unsqueeze(1) for side in sides]
        if self.W is not None:
            matrix = self.match(*sides)
            maps = matrix @ self.W[: right.shape[1]], matrix.transpose(1, 2) @ self.W[: left.shape[1]]
            channels = [
                torch.cat([channel, (found * mask).unsqueeze(1)], 1)
                for channel, found, mask in zip(channels, maps, masks, strict=True)
            ]
        wider = [F.pad(mask, (0, 0, WIDTH - 1, 0), value=1.0) for mask in masks]
        wide = [
            torch.tanh(self.convolution(channel)).squeeze(3).transpose(1, 2) * mask
            for channel, mask in zip(channels, wider, strict=True)
        ]
        if self.at_pooling:
            matrix = self.match(*wide)
            wide = [wide[0] * matrix.sum(2, keepdim=True), wide[1] * matrix.sum(1).unsqueeze(2)]
        known += self.alike(*(side.sum(1) / mask.sum(1) for side, mask in zip(wide, wider, strict=True)))
        return self.output(torch.stack(known, 1))


class AttentiveMatching(nn.Module):
    """Hermann et al. 2015 with the comparison of Mou et al. 2016; a bidirectional GRU reads padded texts."""

    def __init__(self, sizes: Network, impatient: bool) -> None:
        super().__init__()
        size = sizes.hidden_size
        self.embed = nn.Embedding(VOCABULARY, sizes.embedding_size, padding_idx=PAD)
        self.recurrent = nn.GRU(sizes.embedding_size, size // 2, batch_first=True, bidirectional=True)
        self.W = self.V = None
        if impatient:
            self.W, self.V = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.dropout = nn.Dropout(DROPOUT)
        self.compare = nn.Linear(4 * size, size)
        self.output = nn.Linear(size, CLASSES)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Logits of pairs `(B, M)` and `(B, L)`; the right text is read."""
        question, last = self.recurrent(self.dropout(self.embed(left)))
        text, _ = self.recurrent(self.dropout(self.embed(right)))
        question_vector = last.transpose(0, 1).flatten(1)
        mask = right != PAD

        def read(query: Tensor) -> Tensor:
            scores = torch.bmm(text, query.unsqueeze(2)).squeeze(2)
            weights = F.softmax(scores.masked_fill(~mask, -1e9), dim=1)
            return torch.bmm(weights.unsqueeze(1), text).squeeze(1)

        if self.W is None:
            vector = read(question_vector)
        else:
            vector = torch.zeros_like(question_vector)
            for word, real in zip(question.unbind(1), (left != PAD).unbind(1), strict=True):
                new = read(word + self.W(vector)) + torch.tanh(self.V(vector))
                vector = torch.where(real.unsqueeze(1), new, vector)
        both = torch.cat(
            [question_vector, vector, (question_vector - vector).abs(), question_vector * vector], 1
        )
        return self.output(self.dropout(F.relu(self.compare(self.dropout(both)))))


def build(name: str, sizes: Network) -> nn.Module:
    """The network of that name."""
    match name:
        case "lstm_attention":
            return RecurrentAttention(sizes, nn.LSTM)
        case "gru_attention":
            return RecurrentAttention(sizes, nn.GRU)
        case "hierarchical":
            return Hierarchical(sizes)
        case "convolutional" | "convolutional_attention":
            return Convolutional(sizes, attends=name == "convolutional_attention")
        case "attentive_reader" | "impatient_reader":
            return AttentiveMatching(sizes, impatient=name == "impatient_reader")
    return ABCNN(sizes, at_input=name in ("abcnn1", "abcnn3"), at_pooling=name in ("abcnn2", "abcnn3"))


if __name__ == "__main__":
    measure(build, arrange)
