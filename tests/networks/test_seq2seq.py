"""The recurrent networks against their papers' equations."""

import pytest
import torch
from cells_by_hand import gru_by_hand, lstm_by_hand
from network_cases import INPUTS, SHARED, SOURCES, build, padded
from torch import Tensor

from zoo.attention import Additive
from zoo.networks.recurrent import LSTM
from zoo.networks.seq2seq import Seq2Seq, reverse


def encode_by_hand(network: Seq2Seq, ids: list[int]) -> tuple[Tensor, Tensor]:
    """Bahdanau et al. 2015, section 3.2, one word at a time (one GRU layer)."""
    embedded = [network.embed_source.weight[word] for word in ids]
    forward, backward = network.encoder.layers[0]
    left, right = [torch.zeros(4).double()], [torch.zeros(4).double()]
    for word in embedded:
        left.append(gru_by_hand(forward.layer, word, left[-1]))
    for word in reversed(embedded):
        right.append(gru_by_hand(backward.layer, word, right[-1]))
    annotations = torch.stack([torch.cat(pair) for pair in zip(left[1:], right[:0:-1], strict=True)])
    return annotations, torch.cat([left[-1], right[-1]])


def test_bahdanau_equations() -> None:
    network = build("bahdanau", layers=1).double().eval()
    decoder, score = network.decoder, network.decoder.attention.score
    annotations, summary = encode_by_hand(network, [4, 5, 6, 7, 3])
    state = torch.tanh(decoder.bridge.weight @ summary + decoder.bridge.bias)
    expected = []
    for token in [2, 5, 6, 7]:
        word = network.embed_target.weight[token]
        query = Additive.forward(score, state[None], score.project_keys(annotations))[0]  # tested by itself
        context = query.softmax(-1) @ annotations
        state = gru_by_hand(decoder.stack.layers[0].layer, torch.cat([word, context]), state)
        deep = decoder.readout.weight @ torch.cat([state, word, context]) + decoder.readout.bias
        maxout = torch.stack([torch.maximum(deep[2 * i], deep[2 * i + 1]) for i in range(len(deep) // 2)])
        expected.append(maxout)
    actual = network(padded([4, 5, 6, 7, 3]), padded([2, 5, 6, 7])).features[0]
    torch.testing.assert_close(actual, torch.stack(expected), atol=1e-10, rtol=0)


def test_bahdanau_queries_are_the_states_before_the_reading() -> None:
    """A baseline that saw the state behind a sampled reading would bias the gradient."""
    network = build("bahdanau").double().eval()
    memory = network.encode(SOURCES)
    state = network.init_state(memory)
    queries = network.decode(memory, INPUTS).queries
    for position in range(INPUTS.ids.shape[1]):
        torch.testing.assert_close(queries[:, position], state.layers[-1][0][:, 0])
        state = network.step(INPUTS.ids[:, position : position + 1], state, memory).state


@pytest.mark.parametrize("feeding", [True, False])
def test_luong_equations(feeding: bool) -> None:
    network = build("luong-feeding" if feeding else "luong", LSTM, layers=1).double().eval()
    decoder, score = network.decoder, network.decoder.attention.score
    memory = network.encode(padded([4, 5, 6, 7, 3]))
    annotations = memory.memory.values[0]
    hidden, cell = (torch.tanh(decoder.bridge.weight @ memory.summary[0] + decoder.bridge.bias)).chunk(2)
    attentional, expected = torch.zeros(8).double(), []
    for token in [2, 5, 6, 7]:
        word = network.embed_target.weight[token]
        inputs = torch.cat([word, attentional]) if feeding else word
        hidden, cell = lstm_by_hand(decoder.stack.layers[0].layer, inputs, hidden, cell)
        if feeding:  # General: s^T W h
            aligned = torch.stack([hidden @ score.W.weight @ annotation for annotation in annotations])
        else:  # Dot: s^T h
            aligned = annotations @ hidden
        context = aligned.softmax(-1) @ annotations
        attentional = torch.tanh(decoder.combine.weight @ torch.cat([context, hidden]) + decoder.combine.bias)
        expected.append(attentional)
    actual = network(padded([4, 5, 6, 7, 3]), padded([2, 5, 6, 7])).features[0]
    torch.testing.assert_close(actual, torch.stack(expected), atol=1e-10, rtol=0)


def test_reverse_leaves_padding_in_place() -> None:
    rows = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]])
    assert reverse(rows, torch.tensor([3, 2])).tolist() == [[3, 2, 1, 0], [5, 4, 0, 0]]


def test_a_reversed_source_swaps_the_directions_and_keeps_the_order_of_annotations() -> None:
    straight, reversed_ = build(layers=1).eval(), build(layers=1, reverse_source=True).eval()
    forward, backward = straight.encoder.layers[0]
    reversed_.load_state_dict(straight.state_dict())
    reversed_.encoder.layers[0][0].load_state_dict(backward.state_dict())
    reversed_.encoder.layers[0][1].load_state_dict(forward.state_dict())
    ours, theirs = straight.encode(SOURCES).memory.values, reversed_.encode(SOURCES).memory.values
    torch.testing.assert_close(ours, torch.cat(theirs.chunk(2, -1)[::-1], -1))


def test_tied_embeddings_are_one_matrix() -> None:
    network = build(spec=SHARED, tie_embeddings=True)
    assert network.output.weight is network.embed_source.weight is network.embed_target.weight


def test_tied_embeddings_need_one_vocabulary() -> None:
    with pytest.raises(
        ValueError, match="tie_embeddings needs one vocabulary for both sides, and this data has two"
    ):
        build(tie_embeddings=True)


def test_an_odd_hidden_size_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="hidden_size=7 cannot be divided among 2 directions"):
        build(hidden_size=7)
