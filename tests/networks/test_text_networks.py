"""The networks that classify and match texts, against loops written from their papers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from cells_by_hand import gru_by_hand
from network_cases import padded
from torch import Tensor, nn

from zoo.attention import Dot, Hard, Score, Soft
from zoo.core.batch import Documents, Padded
from zoo.core.spec import DataSpec, LabelSpec, TextSpec
from zoo.networks.abcnn import ABCNN, similarities
from zoo.networks.attentive_matching import AttentiveMatching, AttentiveReader, ImpatientReader, SelfAttentive
from zoo.networks.convolutional import ConvolutionalText
from zoo.networks.hierarchical import HierarchicalAttention
from zoo.networks.lstm_attention import LSTMAttention
from zoo.networks.pooling import (
    AttentionPooling,
    Last,
    LastState,
    LearnedQuery,
    Max,
    Mean,
    OtherText,
    redundancy_penalty,
)
from zoo.networks.recurrent import GRU

_TEXT = TextSpec(tokenizer="words", size=11, maximum_length=12)
_LABEL = LabelSpec(("a", "b", "c"))
TEXT = DataSpec("toy", {"text": _TEXT, "label": _LABEL})
DOCUMENT = DataSpec("toy", {"text": replace(_TEXT, maximum_sentences=7), "label": _LABEL})
PAIR = DataSpec("toy", {"left": _TEXT, "right": _TEXT, "label": _LABEL})
TEXTS = padded([4, 5, 6, 7, 3], [8, 3], [9, 10, 4, 3])


def read_by_hand(layers: nn.ModuleList, embedded: Tensor) -> tuple[Tensor, Tensor]:
    """States `(T, H)` of one text in both directions, and the last ones side by side."""
    forward, backward = layers[0]
    zero = torch.zeros(forward.hidden_size).double()
    left, right = [zero], [zero]
    for word in embedded:
        left.append(gru_by_hand(forward.layer, word, left[-1]))
    for word in embedded.flip(0):
        right.append(gru_by_hand(backward.layer, word, right[-1]))
    states = torch.stack([torch.cat(pair) for pair in zip(left[1:], right[:0:-1], strict=True)])
    return states, torch.cat([left[-1], right[-1]])


def attend_by_hand(pooling: AttentionPooling, states: Tensor, query: Tensor) -> Tensor:
    """Yang et al. 2016, eq. 5 to 7, for one text and one query."""
    keys = [torch.tanh(pooling.keys.weight @ state + pooling.keys.bias) for state in states]
    weights = torch.stack([query @ key for key in keys]).softmax(0)
    return sum(weight * state for weight, state in zip(weights, states, strict=True))


CONTROLS: dict[str, Callable[..., nn.Module]] = {"mean": Mean, "max": Max}


def attention(
    query: Callable[..., nn.Module] = LearnedQuery, score: type[Score] = Dot, **selection: object
) -> Callable[..., AttentionPooling]:
    parts = {"score": score, "selection": partial(Soft, **selection)}
    return partial(AttentionPooling, query=query, attention=parts)


def lstm_attention(pooling: Callable[..., nn.Module], **changes: object) -> LSTMAttention:
    torch.manual_seed(0)
    sizes = {"embedding_size": 5, "hidden_size": 6, "layers": 1, "dropout": 0.0}
    return LSTMAttention(spec=TEXT, recurrent=GRU, pooling=pooling, **(sizes | changes)).double().eval()


def rows(texts: Padded) -> list[list[int]]:
    return [ids[:length].tolist() for ids, length in zip(texts.ids, texts.lengths, strict=True)]


class TestLSTMAttention:
    def test_reads_as_yang_and_lin_have_it(self) -> None:
        network = lstm_attention(attention(partial(LearnedQuery, hops=2)))
        expected = []
        for text in rows(TEXTS):
            states, _ = read_by_hand(network.words.encoder.layers, network.embed.weight[text])
            hops = [
                attend_by_hand(network.words.pooling, states, query)
                for query in network.words.pooling.query.u
            ]
            expected.append(network.output.weight @ torch.cat(hops) + network.output.bias)
        torch.testing.assert_close(network(TEXTS).logits, torch.stack(expected))

    def test_the_last_state_may_ask(self) -> None:
        network = lstm_attention(attention(LastState))
        for row, text in enumerate(rows(TEXTS)):
            states, last = read_by_hand(network.words.encoder.layers, network.embed.weight[text])
            vector = attend_by_hand(network.words.pooling, states, last)
            expected = network.output.weight @ vector + network.output.bias
            torch.testing.assert_close(network(TEXTS).logits[row], expected)

    @pytest.mark.parametrize("pooling", CONTROLS)
    def test_controls(self, pooling: str) -> None:
        network = lstm_attention(CONTROLS[pooling])
        for row, text in enumerate(rows(TEXTS)):
            states, _ = read_by_hand(network.words.encoder.layers, network.embed.weight[text])
            vector = states.mean(0) if pooling == "mean" else states.max(0).values
            expected = network.output.weight @ vector + network.output.bias
            torch.testing.assert_close(network(TEXTS).logits[row], expected)

    def test_another_text_must_be_there_to_ask(self) -> None:
        with pytest.raises(ValueError, match="second text"):
            lstm_attention(attention(OtherText))


def test_hops_that_read_the_same_are_penalised() -> None:
    apart = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    same = torch.tensor([[[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]])
    assert redundancy_penalty(apart) == 0
    assert redundancy_penalty(same) == 4 * 0.5**2  # A Aᵀ - I has 0.5 everywhere, but for the sign


class TestHierarchical:
    def network(
        self, word: Callable[..., nn.Module], sentence: Callable[..., nn.Module]
    ) -> HierarchicalAttention:
        torch.manual_seed(0)
        network = HierarchicalAttention(
            spec=DOCUMENT,
            recurrent=GRU,
            word_pooling=word,
            sentence_pooling=sentence,
            embedding_size=5,
            hidden_size=6,
            dropout=0.0,
        )
        return network.double().eval()

    def test_reads_sentences_of_words_and_documents_of_sentences(self) -> None:
        """Two documents of two sentences and of one, whose sentences lie in two groups."""
        network = self.network(attention(), attention())
        groups = [padded([8, 3], [9, 3]), padded([4, 5, 6, 7, 3])]
        documents = [[[8, 3], [4, 5, 6, 7, 3]], [[9, 3]]]
        logits = network(
            Documents(tuple(groups), torch.tensor([[0, 2], [1, 0]]), torch.tensor([2, 1]))
        ).logits
        for row, document in enumerate(documents):
            vectors = []
            for sentence in document:
                states, _ = read_by_hand(network.words.encoder.layers, network.embed.weight[sentence])
                vectors.append(
                    attend_by_hand(network.words.pooling, states, network.words.pooling.query.u[0])
                )
            states, _ = read_by_hand(network.sentences.encoder.layers, torch.stack(vectors))
            vector = attend_by_hand(network.sentences.pooling, states, network.sentences.pooling.query.u[0])
            expected = network.output.weight @ vector + network.output.bias
            torch.testing.assert_close(logits[row], expected)


class TestConvolutional:
    def network(self, pooling: Callable[..., nn.Module], asks: bool = False) -> ConvolutionalText:
        torch.manual_seed(0)
        network = ConvolutionalText(
            spec=TEXT,
            pooling=pooling,
            recurrent=GRU if asks else None,
            embedding_size=5,
            filters=4,
            widths=(2, 3),
            dropout=0.0,
        )
        return network.double().eval()

    def features(self, network: ConvolutionalText, text: list[int]) -> list[Tensor]:
        """Kim 2014, eq. 2, over the text between zeros: for each width `(T + w - 1, F)`."""
        embedded, found = network.embed.weight[text], []
        for convolution in network.filters:
            width = convolution.kernel_size[0]
            zeros = torch.zeros(width - 1, embedded.shape[1]).double()
            wide = torch.cat([zeros, embedded, zeros])
            windows = [wide[i : i + width] for i in range(len(text) + width - 1)]
            filters = convolution.weight.mT.flatten(1)  # (F, w E): word by word
            found.append(
                torch.stack([filters @ window.flatten() + convolution.bias for window in windows]).relu()
            )
        return found

    def test_max_over_time(self) -> None:
        network = self.network(Max)
        for row, text in enumerate(rows(TEXTS)):
            vector = torch.cat([found.max(0).values for found in self.features(network, text)])
            expected = network.output.weight @ vector + network.output.bias
            torch.testing.assert_close(network(TEXTS).logits[row], expected)

    @pytest.mark.parametrize(
        ("pooling", "asks", "reason"),
        [
            (Last, False, "have no state"),
            (attention(LastState), True, "have no state"),
            (attention(OtherText), False, "recurrent must be GRU or LSTM"),
            (attention(LearnedQuery), True, "recurrent must be left out"),
            (Max, True, "recurrent must be left out"),
        ],
    )
    def test_a_query_that_is_not_there_is_refused(
        self, pooling: Callable[..., nn.Module], asks: bool, reason: str
    ) -> None:
        with pytest.raises(ValueError, match=reason):
            self.network(pooling, asks)

    def test_the_sentence_vector_asks_the_features(self) -> None:
        network = self.network(attention(OtherText), asks=True)
        for row, text in enumerate(rows(TEXTS)):
            embedded = network.embed.weight[text]
            _, query = read_by_hand(network.sentence_vector.layers, embedded)
            read = [
                attend_by_hand(pooling, found, query)
                for pooling, found in zip(network.pooling, self.features(network, text), strict=True)
            ]
            expected = network.output.weight @ torch.cat(read) + network.output.bias
            torch.testing.assert_close(network(TEXTS).logits[row], expected)


def similarity_by_hand(u: Tensor, v: Tensor) -> list[Tensor]:
    return [(u @ v) / (u.norm() * v.norm()), 1 / (1 + (u - v).norm())]


class TestABCNN:
    WIDTH = 3

    def by_hand(
        self, network: ABCNN, left: list[int], right: list[int], match: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        """Yin et al. 2016, sections 3 and 4, a pair at a time and a column at a time."""
        sides = [network.embed.weight[left], network.embed.weight[right]]
        known = similarity_by_hand(sides[0].mean(0), sides[1].mean(0))
        for block in network.blocks:
            maps = [[side] for side in sides]
            if block.features is not None:
                matrix = torch.stack([torch.stack([match(x, y) for y in sides[1]]) for x in sides[0]])
                W = block.features.W
                maps[0].append(
                    torch.stack([sum(a * w for a, w in zip(row, W, strict=False)) for row in matrix])
                )
                maps[1].append(
                    torch.stack([sum(a * w for a, w in zip(row, W, strict=False)) for row in matrix.T])
                )
            wide = []
            for side in maps:
                columns = torch.cat(side, -1)
                zeros = torch.zeros(self.WIDTH - 1, columns.shape[1]).double()
                columns = torch.cat([zeros, columns, zeros])
                filters = block.convolution.weight.mT.flatten(1)
                windows = [
                    columns[i : i + self.WIDTH].flatten() for i in range(len(columns) - self.WIDTH + 1)
                ]
                wide.append(torch.stack([torch.tanh(filters @ c + block.convolution.bias) for c in windows]))
            if block.match is not None:
                matrix = torch.stack([torch.stack([match(x, y) for y in wide[1]]) for x in wide[0]])
                wide = [wide[0] * matrix.sum(1)[:, None], wide[1] * matrix.sum(0)[:, None]]
            known += similarity_by_hand(wide[0].mean(0), wide[1].mean(0))
            pool = torch.sum if block.match is not None else torch.mean
            sides = [
                torch.stack([pool(side[i : i + self.WIDTH], 0) for i in range(len(side) - self.WIDTH + 1)])
                for side in wide
            ]
        return network.output.weight @ torch.stack(known) + network.output.bias

    @pytest.mark.parametrize("at_input", [False, True])
    @pytest.mark.parametrize("at_pooling", [False, True])
    def test_equations(self, at_input: bool, at_pooling: bool) -> None:
        torch.manual_seed(0)
        network = ABCNN(
            spec=PAIR,
            input_match=Dot if at_input else None,
            pooling_match=Dot if at_pooling else None,
            embedding_size=5,
            filters=4,
            width=self.WIDTH,
            layers=2,
            dropout=0.0,
        )
        network = network.double().eval()
        others = padded([8, 9], [5, 6, 7, 8, 9, 3], [4])
        logits = network(TEXTS, others).logits
        for row, (left, right) in enumerate(zip(rows(TEXTS), rows(others), strict=True)):
            expected = self.by_hand(network, left, right, torch.dot)
            torch.testing.assert_close(logits[row], expected, rtol=1e-6, atol=1e-6)

    def test_equal_sentences_have_finite_gradients(self) -> None:
        vectors = torch.zeros(2, 3, requires_grad=True)
        similarities(vectors, vectors * 1).sum().backward()
        assert vectors.grad is not None
        assert vectors.grad.isfinite().all()


class TestAttentiveMatching:
    def network(self, reader: Callable[..., nn.Module], selection: type = Soft) -> AttentiveMatching:
        torch.manual_seed(0)
        network = AttentiveMatching(
            spec=PAIR,
            recurrent=GRU,
            reader=reader,
            attention={"score": Dot, "selection": selection},
            embedding_size=5,
            hidden_size=6,
            dropout=0.0,
        )
        return network.double().eval()

    def read(self, reader: nn.Module, text: Tensor, words: Tensor, last: Tensor) -> Tensor:
        def reading(query: Tensor) -> Tensor:
            return (text @ query).softmax(0) @ text

        if isinstance(reader, AttentiveReader):
            return reading(last)
        if isinstance(reader, SelfAttentive):
            return reading(reader.query.u[0])
        vector = torch.zeros_like(last)
        for word in words:
            vector = reading(word + reader.W.weight @ vector) + torch.tanh(reader.V.weight @ vector)
        return vector

    @pytest.mark.parametrize("reader", [AttentiveReader, ImpatientReader, SelfAttentive])
    def test_equations(self, reader: type[nn.Module]) -> None:
        network = self.network(reader)
        others = padded([8, 9], [5, 6, 7, 8, 9, 3], [4])
        logits = network(others, TEXTS).logits
        for row, (question, text) in enumerate(zip(rows(others), rows(TEXTS), strict=True)):
            words, last = read_by_hand(network.encoder.layers, network.embed.weight[question])
            states, _ = read_by_hand(network.encoder.layers, network.embed.weight[text])
            vector = self.read(network.reader, states, words, last)
            both = torch.cat([last, vector, (last - vector).abs(), last * vector])
            hidden = (network.compare.weight @ both + network.compare.bias).relu()
            torch.testing.assert_close(logits[row], network.output.weight @ hidden + network.output.bias)

    def test_choices_for_each_word_are_known_one_by_one(self) -> None:
        network = self.network(ImpatientReader, Hard).train()
        reading = network(padded([8, 9], [4]), padded([4, 5, 6], [7, 3])).readings[0]
        assert reading.attended.log_prob.shape == reading.asked.shape == (2, 2)
        assert reading.asked.tolist() == [[True, True], [True, False]]
