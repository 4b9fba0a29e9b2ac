"""The recurrent networks against their papers' equations, and the laws every network keeps."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from zoo.attention import Additive, Dot, General, LocalMonotonic, LocalPredictive, Soft
from zoo.batch import Padded
from zoo.decoding import Beam, Greedy, Hypothesis, Sample
from zoo.networks.recurrent import GRU, LSTM, Recurrent
from zoo.networks.seq2seq import BahdanauDecoder, FixedVectorDecoder, LuongDecoder, Seq2Seq, reverse
from zoo.spec import DataSpec, TextSpec

SOURCE = TextSpec(tokenizer="source", size=11, maximum_length=20)
TARGET = TextSpec(tokenizer="target", size=13, maximum_length=20)
SPEC = DataSpec(name="toy", source=SOURCE, target=TARGET, test_hash="", vocabulary_hash="")
SHARED = DataSpec(name="toy", source=SOURCE, target=SOURCE, test_hash="", vocabulary_hash="")

DECODERS: dict[str, Callable[..., nn.Module]] = {
    "none": FixedVectorDecoder,
    "bahdanau": partial(BahdanauDecoder, attention={"score": Additive, "selection": Soft}),
    "luong-feeding": partial(
        LuongDecoder, attention={"score": General, "selection": Soft}, input_feeding=True
    ),
    "luong": partial(LuongDecoder, attention={"score": Dot, "selection": Soft}, input_feeding=False),
    "luong-local-m": partial(
        LuongDecoder,
        attention={"score": General, "selection": partial(LocalMonotonic, window=2)},
        input_feeding=False,
    ),
    "bahdanau-local-m": partial(
        BahdanauDecoder, attention={"score": Additive, "selection": partial(LocalMonotonic, window=1)}
    ),
    "luong-local-p": partial(
        LuongDecoder,
        attention={"score": General, "selection": partial(LocalPredictive, window=2)},
        input_feeding=True,
    ),
}


def build(
    decoder: str = "bahdanau", recurrent: type[Recurrent] = GRU, spec: DataSpec = SPEC, **changes: object
) -> Seq2Seq:
    torch.manual_seed(0)
    sizes: dict[str, object] = {"embedding_size": 6, "hidden_size": 8, "layers": 2, "dropout": 0.0}
    return Seq2Seq(spec=spec, decoder=DECODERS[decoder], recurrent=recurrent, **(sizes | changes))  # type: ignore[arg-type]


def padded(*rows: list[int]) -> Padded:
    size = max(map(len, rows))
    ids = torch.tensor([row + [0] * (size - len(row)) for row in rows])
    return Padded(ids, torch.tensor([len(row) for row in rows]))


SOURCES = padded([4, 5, 6, 7, 3], [8, 3], [9, 10, 4, 3])
INPUTS = padded([2, 5, 6, 7], [2, 8, 9, 10, 11, 12], [2, 4])


SEARCHES: dict[str, tuple[Callable[..., list[list[Hypothesis]]], int]] = {
    "greedy": (Greedy(), 1),
    "beam": (Beam(beam_size=4, length_penalty=1.0, n_best=3), 3),
    "samples": (Sample(samples=3, seed=1), 3),
}
"""Searches, and how many hypotheses each finds."""


def searched(network: Seq2Seq, source: Padded, search: str) -> list[list[Hypothesis]]:
    memory = network.encode(source)
    limits = torch.full_like(source.lengths, 8)
    return SEARCHES[search][0](
        network.step,
        network.init_state(memory),
        memory,
        bos=2,
        eos=3,
        forbidden=(0, 1, 2),
        maximum_length=limits,
    )


@pytest.mark.parametrize("recurrent", [GRU, LSTM])
@pytest.mark.parametrize("decoder", DECODERS)
class TestLaws:
    def test_steps_equal_the_teacher_forced_pass_at_every_prefix(
        self, decoder: str, recurrent: type[Recurrent]
    ) -> None:
        network = build(decoder, recurrent).double().eval()
        decoded = network(SOURCES, INPUTS)
        expected = network.logits(decoded.features).log_softmax(-1)
        memory = network.encode(SOURCES)
        state = network.init_state(memory)
        for position in range(INPUTS.ids.shape[1]):
            step = network.step(INPUTS.ids[:, position : position + 1], state, memory)
            state = step.state
            torch.testing.assert_close(step.log_probs[:, 0], expected[:, position].float())
            if decoded.weights is not None:
                torch.testing.assert_close(step.weights[:, 0], decoded.weights[:, position])

    def test_batch_and_padding_change_nothing(self, decoder: str, recurrent: type[Recurrent]) -> None:
        network = build(decoder, recurrent).double().eval()
        together = network(SOURCES, INPUTS).features
        for row in range(3):
            source = SOURCES.ids[row : row + 1, : int(SOURCES.lengths[row])]
            inputs = INPUTS.ids[row : row + 1, : int(INPUTS.lengths[row])]
            alone = network(
                Padded(source, SOURCES.lengths[row : row + 1]), Padded(inputs, INPUTS.lengths[row : row + 1])
            )
            torch.testing.assert_close(together[row, : inputs.shape[1]], alone.features[0])

    def test_the_future_does_not_leak(self, decoder: str, recurrent: type[Recurrent]) -> None:
        network = build(decoder, recurrent).double().eval()
        changed = Padded(INPUTS.ids.clone(), INPUTS.lengths)
        changed.ids[:, 2:] = 7
        before, after = network(SOURCES, INPUTS).features, network(SOURCES, changed).features
        assert torch.equal(before[:, :2], after[:, :2])
        assert not torch.equal(before[:, 2:], after[:, 2:])

    def test_every_parameter_learns(self, decoder: str, recurrent: type[Recurrent]) -> None:
        network = build(decoder, recurrent).double().train()
        network.logits(network(SOURCES, INPUTS).features).log_softmax(-1)[..., 5].sum().backward()
        without = [
            name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()
        ]
        assert not without

    def test_hypotheses_are_independent_queries(self, decoder: str, recurrent: type[Recurrent]) -> None:
        """W hypotheses in one step equal W steps of one."""
        network = build(decoder, recurrent).double().eval()
        memory = network.encode(SOURCES)
        state = network.init_state(memory)
        first = network.step(torch.full((3, 1), 2), state, memory)
        wide = map_tensors(first.state, lambda value: value.expand(-1, 4, *value.shape[2:]))
        tokens = torch.tensor([[4, 5, 6, 7]]).expand(3, -1)
        together = network.step(tokens, wide, memory).log_probs
        for number in range(4):
            alone = network.step(tokens[:, number : number + 1], first.state, memory).log_probs
            torch.testing.assert_close(together[:, number : number + 1], alone)

    @pytest.mark.parametrize("search", SEARCHES)
    def test_every_search_finds_what_the_teacher_forced_pass_says(
        self, decoder: str, recurrent: type[Recurrent], search: str
    ) -> None:
        """Whatever state the hypotheses of a sentence carry, in a batch or alone."""
        network = build(decoder, recurrent).double().eval()
        together = searched(network, SOURCES, search)
        for row, found in enumerate(together):
            length = SOURCES.lengths[row : row + 1]
            source = Padded(SOURCES.ids[row : row + 1, : int(length)], length)
            (alone,) = searched(network, source, search)
            assert [one.ids for one in found] == [one.ids for one in alone]
            assert len(found) == SEARCHES[search][1]
            for one in found:
                decoded = network(source, padded([2, *one.ids[:-1]]))
                log_probs = network.logits(decoded.features).log_softmax(-1)[0]
                total = sum(log_probs[step, token].item() for step, token in enumerate(one.ids))
                assert one.log_prob == pytest.approx(total, abs=1e-4)
                if decoded.weights is not None:
                    assert one.weights is not None
                    weights = one.weights[:, : int(length)]
                    torch.testing.assert_close(weights, decoded.weights[0].float(), atol=1e-5, rtol=0)

    def test_overfits_one_batch(self, decoder: str, recurrent: type[Recurrent]) -> None:
        network = build(decoder, recurrent, hidden_size=32, embedding_size=16, layers=1).train()
        optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
        labels = padded([5, 6, 7, 3], [8, 9, 10, 11, 12, 3], [4, 3])
        for _ in range(100):
            logits = network.logits(network(SOURCES, INPUTS).features)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.ids.flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert loss.item() < 0.02


def map_tensors(tree: object, function: Callable[[Tensor], Tensor]) -> object:
    if isinstance(tree, Tensor):
        return function(tree)
    if tree is None:
        return None
    assert isinstance(tree, tuple)
    values = [map_tensors(value, function) for value in tree]
    return type(tree)(*values) if hasattr(tree, "_fields") else tuple(values)


def gru_by_hand(layer: nn.GRU, inputs: Tensor, state: Tensor) -> Tensor:
    """One step, written from the gates' equations."""
    reset_x, update_x, new_x = (layer.weight_ih_l0 @ inputs + layer.bias_ih_l0).chunk(3)
    reset_h, update_h, new_h = (layer.weight_hh_l0 @ state + layer.bias_hh_l0).chunk(3)
    reset, update = torch.sigmoid(reset_x + reset_h), torch.sigmoid(update_x + update_h)
    return (1 - update) * torch.tanh(new_x + reset * new_h) + update * state


def lstm_by_hand(layer: nn.LSTM, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    gates = layer.weight_ih_l0 @ inputs + layer.bias_ih_l0 + layer.weight_hh_l0 @ hidden + layer.bias_hh_l0
    enter, forget, new, out = gates.chunk(4)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(cell), cell


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
    with pytest.raises(ValueError, match=r"two \(11 and 13 entries\)"):
        build(tie_embeddings=True)


def test_an_odd_hidden_size_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="hidden_size=7 cannot be divided among 2 directions"):
        build(hidden_size=7)
