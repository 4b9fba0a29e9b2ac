"""LSTM language models with and without memory, and LSTMN, against loops in float64 from the papers."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from network_cases import padded
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from zoo.attention import Additive, Cosine, Dot, General, GumbelHard, Hard, LocalMonotonic, Soft
from zoo.core.spec import DataSpec, LabelSpec, TextSpec
from zoo.networks.language_model import begun_anew
from zoo.networks.lstm_attention import LSTMAttention
from zoo.networks.lstm_language_model import LSTMLanguageModel
from zoo.networks.lstmn import LSTMN
from zoo.networks.past_attention import PastAttention
from zoo.networks.pooling import Mean
from zoo.networks.recurrent import GRU, LSTM

SPEC = DataSpec("toy", {"text": TextSpec(tokenizer="words", size=11, maximum_length=6)})
SOFT_ADDITIVE = {"score": Additive, "selection": Soft}
KINDS: dict[str, dict[str, object]] = {
    "lstm": {},
    "gru": {"recurrent": GRU},
    "memory": {"memory": partial(PastAttention, attention=SOFT_ADDITIVE, length=3)},
    "memory of all": {
        "memory": partial(PastAttention, attention={"score": General, "selection": Soft}, length=50)
    },
    "lstmn": {"recurrent": partial(LSTMN, attention=SOFT_ADDITIVE, tape=3)},
    "lstmn and memory": {
        "recurrent": partial(LSTMN, attention={"score": Dot, "selection": Soft}, tape=40),
        "memory": partial(PastAttention, attention={"score": Cosine, "selection": Soft}, length=4),
    },
}


def build(kind: str = "lstm", **changes: object) -> LSTMLanguageModel:
    torch.manual_seed(0)
    settings: dict[str, object] = {"recurrent": LSTM, "memory": None, "embedding_size": 6, "hidden_size": 6}
    settings |= {"layers": 2, "dropout": 0.0} | KINDS[kind] | changes
    network = LSTMLanguageModel(spec=SPEC, **settings).double()  # type: ignore[arg-type]
    # Far from linear, so that a mistake in the attention shows.
    for parameter in network.parameters():
        parameter.data.mul_(2)
    return network


TOKENS = torch.randint(1, 11, (3, 8), generator=torch.Generator().manual_seed(1))
every_kind = pytest.mark.parametrize("kind", list(KINDS))


def cell_by_hand(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    add, keep, new, show = gates.chunk(4)  # torch's order
    cell = keep.sigmoid() * cell + add.sigmoid() * new.tanh()
    return show.sigmoid() * cell.tanh(), cell


def test_past_attention_is_the_equation_of_luong_over_the_states_before() -> None:
    network = build("memory", layers=1)
    weights = network.stack.layers[0].weights
    part, score = network.memory, network.memory.attention.score  # type: ignore[union-attr]
    zero = torch.zeros(6).double()
    for row, read in zip(TOKENS, network(TOKENS).hidden, strict=True):
        hidden, cell, states = zero, zero, []
        for token, found in zip(row, read, strict=True):
            gates = weights[0] @ network.embed.weight[token] + weights[2] + weights[1] @ hidden + weights[3]
            hidden, cell = cell_by_hand(gates, cell)
            context = zero
            if past := states[-3:]:
                scores = [
                    (score.v.weight @ torch.tanh(score.W.weight @ hidden + score.U.weight @ state)).squeeze()
                    for state in past
                ]
                soft = torch.stack(scores).softmax(0)
                context = sum(w * state for w, state in zip(soft, past, strict=True))
            states.append(hidden)
            combined = part.combine.weight @ torch.cat([context, hidden]) + part.combine.bias  # type: ignore[union-attr]
            torch.testing.assert_close(found, combined.tanh())


@pytest.mark.parametrize("tape", [None, 3, 30])
def test_lstmn_is_the_equations_of_its_paper(tape: int | None) -> None:
    torch.manual_seed(0)
    layer = LSTMN(input_size=4, hidden_size=5, attention=SOFT_ADDITIVE, tape=tape).double()
    for parameter in layer.parameters():
        parameter.data.mul_(2)
    score = layer.attention.score
    inputs = torch.randn(2, 7, 4).double()
    maps = layer.attention_map(inputs)
    for row, outputs, seen in zip(inputs, layer(inputs), maps, strict=True):
        zero = torch.zeros(5).double()
        read, tapes = zero, []
        for t, (x, found) in enumerate(zip(row, outputs, strict=True)):
            query = layer.query_of_input.weight @ x + layer.query_of_read.weight @ read
            kept = tapes if tape is None else tapes[-tape:]
            scores = [
                (score.v.weight @ torch.tanh(score.U.weight @ h + score.W.weight @ query)).squeeze()
                for h, _ in kept
            ]
            read, cell, expected = zero, zero, torch.zeros(7).double()
            if scores:
                s = torch.stack(scores).softmax(0)
                read = sum(w * h for w, (h, _) in zip(s, kept, strict=True))
                cell = sum(w * c for w, (_, c) in zip(s, kept, strict=True))
                expected[t - len(kept) : t] = s
            torch.testing.assert_close(seen[t], expected)
            gates = layer.gates_of_input.weight @ x + layer.gates_of_input.bias
            i, f, o, new = (gates + layer.gates_of_read.weight @ read).chunk(4)
            cell = f.sigmoid() * cell + i.sigmoid() * new.tanh()
            hidden = o.sigmoid() * cell.tanh()
            torch.testing.assert_close(found, hidden)
            tapes.append((hidden, cell))


def test_lstmn_that_sees_one_state_is_an_lstm() -> None:
    torch.manual_seed(0)
    layer = LSTMN(input_size=4, hidden_size=5, attention=SOFT_ADDITIVE, tape=1).double()
    lstm = nn.LSTM(4, 5, batch_first=True).double()
    order = [0, 1, 3, 2]  # torch has ĉ before o
    ours = (layer.gates_of_input.weight, layer.gates_of_read.weight, layer.gates_of_input.bias)
    theirs = (lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0)
    for our, their in zip(ours, theirs, strict=True):
        chunks = our.detach().chunk(4)
        their.data.copy_(torch.cat([chunks[number] for number in order]))
    nn.init.zeros_(lstm.bias_hh_l0)
    inputs = torch.randn(2, 7, 4).double()
    torch.testing.assert_close(layer(inputs), lstm(inputs)[0])


@every_kind
def test_steps_equal_the_window_and_windows_equal_the_text(kind: str) -> None:
    network = build(kind).eval()
    whole = network(TOKENS)
    expected = network.output(whole.hidden).log_softmax(-1)
    state = network.init_state(3)
    for t in range(TOKENS.shape[1]):
        step = network.step(TOKENS[:, t : t + 1], state)
        torch.testing.assert_close(step.log_probs[:, 0], expected[:, t].float(), atol=1e-6, rtol=1e-5)
        state = step.state
    first = network(TOKENS[:, :5])
    second = network(TOKENS[:, 5:], first.state)
    torch.testing.assert_close(torch.cat([first.hidden, second.hidden], 1), whole.hidden)


@every_kind
def test_state_of_zeros_is_none_and_rows_begin_anew(kind: str) -> None:
    network = build(kind).eval()
    empty = tree_map(lambda part: part[:, 0], network.init_state(3))
    torch.testing.assert_close(network(TOKENS, empty).hidden, network(TOKENS).hidden)
    carried = torch.tensor([True, False, True])
    state = network(TOKENS).state
    anew = network(TOKENS, begun_anew(state, carried)).hidden
    torch.testing.assert_close(anew[1], network(TOKENS).hidden[1])
    torch.testing.assert_close(anew[0], network(TOKENS, state).hidden[0])


@every_kind
def test_no_token_sees_the_future(kind: str) -> None:
    network = build(kind).eval()
    changed = TOKENS.clone()
    changed[:, 5:] = TOKENS[:, 5:].flip(0)
    torch.testing.assert_close(network(changed).hidden[:, :5], network(TOKENS).hidden[:, :5])


@pytest.mark.sampled(4)
@every_kind
def test_every_parameter_learns_and_one_batch_is_learned(kind: str) -> None:
    network = build(kind, dropout=0.0, embedding_size=8, hidden_size=12)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    first = 0.0
    for number in range(120):
        logits = network.output(network(TOKENS[:, :-1]).hidden)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), TOKENS[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        if number == 0:
            first = loss.item()
            for name, parameter in network.named_parameters():
                assert parameter.grad is not None, name
                assert parameter.grad.any(), name
        optimizer.step()
    assert loss.item() < 0.5 < first


@every_kind
def test_maps_are_weights_of_steps_before(kind: str) -> None:
    network = build(kind).eval()
    for maps in network.attention_maps(TOKENS).values():
        for weights in maps:
            assert weights.shape == (3, 1, 8, 8)
            assert not weights.triu().any()
            torch.testing.assert_close(weights[:, :, 1:].sum(-1), torch.ones(3, 1, 7).double())


def test_equal_sizes_are_tied_and_others_are_projected() -> None:
    network = build()
    assert network.output.weight is network.embed.weight
    other = build(hidden_size=8)
    assert other.output.weight is other.embed.weight
    assert other(TOKENS).hidden.shape == (3, 8, 6)


@pytest.mark.parametrize(
    "attention",
    [{"score": Dot, "selection": partial(LocalMonotonic, window=2)}, {"score": Dot, "selection": Hard}],
)
def test_what_cannot_read_a_moving_past_is_refused(attention: dict[str, Callable[..., nn.Module]]) -> None:
    with pytest.raises(ValueError, match="take"):
        PastAttention(size=4, attention=attention, length=3)
    with pytest.raises(ValueError, match="take"):
        LSTMN(input_size=4, hidden_size=4, attention=attention, tape=3)


def test_a_tape_of_running_text_has_a_limit() -> None:
    with pytest.raises(ValueError, match="has no end"):
        build(recurrent=partial(LSTMN, attention=SOFT_ADDITIVE))


def test_gumbel_reads_one_state() -> None:
    attention = {"score": Dot, "selection": GumbelHard}
    network = build(memory=partial(PastAttention, attention=attention, length=3)).eval()
    (weights,) = network.attention_maps(TOKENS)["past"]
    assert (weights[:, 0, 1:].amax(-1) == 1).all()


def test_lstmn_reads_texts_whatever_their_padding() -> None:
    torch.manual_seed(0)
    spec = DataSpec("toy", {"text": SPEC.text("text"), "label": LabelSpec(("a", "b", "c"))})
    reader = LSTMAttention(
        spec=spec,
        recurrent=partial(LSTMN, attention=SOFT_ADDITIVE),
        pooling=Mean,
        embedding_size=6,
        hidden_size=8,
        layers=2,
        dropout=0.0,
    ).eval()
    together = reader(padded([4, 5, 6, 7, 3], [8, 3], [9, 10, 4, 3])).logits
    alone = reader(padded([8, 3])).logits
    torch.testing.assert_close(together[1:2], alone)
