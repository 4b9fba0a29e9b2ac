"""What holds for every network of translation."""

from collections.abc import Callable

import pytest
import torch
from network_cases import INPUTS, NETWORKS, SOURCES, padded
from torch import nn

from zoo.core.batch import Padded
from zoo.decoding import Beam, Greedy, Hypothesis, Sample
from zoo.decoding.tree import map_tensors
from zoo.networks.seq2seq import Seq2Seq
from zoo.networks.transformer import Transformer

Network = Seq2Seq | Transformer

LARGER = {
    False: {"hidden_size": 32, "embedding_size": 16, "layers": 1},
    True: {"model_size": 32, "feed_forward_size": 64, "encoder_layers": 1, "decoder_layers": 1},
}
"""What learns three sentences by heart."""

SEARCHES: dict[str, tuple[Callable[..., list[list[Hypothesis]]], int]] = {
    "greedy": (Greedy(), 1),
    "beam": (Beam(beam_size=4, length_penalty=1.0, n_best=3), 3),
    "samples": (Sample(samples=3, seed=1), 3),
}
"""Searches, and how many hypotheses each finds."""


def searched(network: Network, source: Padded, search: str) -> list[list[Hypothesis]]:
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


@pytest.mark.parametrize("name", NETWORKS)
class TestLaws:
    def test_steps_equal_the_teacher_forced_pass_at_every_prefix(self, name: str) -> None:
        network = NETWORKS[name]().double().eval()
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

    @pytest.mark.sampled(40)
    def test_batch_and_padding_change_nothing(self, name: str) -> None:
        network = NETWORKS[name]().double().eval()
        together = network(SOURCES, INPUTS).features
        for row in range(3):
            source = SOURCES.ids[row : row + 1, : int(SOURCES.lengths[row])]
            inputs = INPUTS.ids[row : row + 1, : int(INPUTS.lengths[row])]
            alone = network(
                Padded(source, SOURCES.lengths[row : row + 1]), Padded(inputs, INPUTS.lengths[row : row + 1])
            )
            torch.testing.assert_close(together[row, : inputs.shape[1]], alone.features[0])

    def test_the_future_does_not_leak(self, name: str) -> None:
        network = NETWORKS[name]().double().eval()
        changed = Padded(INPUTS.ids.clone(), INPUTS.lengths)
        changed.ids[:, 2:] = 7
        before, after = network(SOURCES, INPUTS).features, network(SOURCES, changed).features
        assert torch.equal(before[:, :2], after[:, :2])
        assert not torch.equal(before[:, 2:], after[:, 2:])

    def test_every_parameter_learns(self, name: str) -> None:
        network = NETWORKS[name]().double().train()
        decoded = network(SOURCES, INPUTS)
        loss = network.logits(decoded.features).log_softmax(-1)[..., 5].sum()
        (loss if decoded.log_prob is None else loss + decoded.log_prob.sum()).backward()
        without = [
            name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()
        ]
        assert without == [one for one in without if "w_s" in one], "what cancels in the softmax"

    def test_hypotheses_are_independent_queries(self, name: str) -> None:
        """W hypotheses in one step equal W steps of one."""
        network = NETWORKS[name]().double().eval()
        memory = network.encode(SOURCES)
        state = network.init_state(memory)
        first = network.step(torch.full((3, 1), 2), state, memory)
        wide = map_tensors(lambda value: value.expand(-1, 4, *value.shape[2:]), first.state)
        tokens = torch.tensor([[4, 5, 6, 7]]).expand(3, -1)
        together = network.step(tokens, wide, memory).log_probs
        for number in range(4):
            alone = network.step(tokens[:, number : number + 1], first.state, memory).log_probs
            torch.testing.assert_close(together[:, number : number + 1], alone)

    @pytest.mark.sampled(16)
    @pytest.mark.parametrize("search", SEARCHES)
    def test_every_search_finds_what_the_teacher_forced_pass_says(self, name: str, search: str) -> None:
        """Whatever state the hypotheses of a sentence carry, in a batch or alone."""
        network = NETWORKS[name]().double().eval()
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


QUICK = (
    "none-GRU",
    "bahdanau-GRU",
    "luong-LSTM",
    "luong-local-p-GRU",
    "lstmn-deep",
    "transformer-post-norm",
    "transformer-window",
)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NETWORKS]
)
def test_overfits_one_batch(name: str) -> None:
    if name == "transformer-hard":
        pytest.skip("samples what it reads: a loss without the term of REINFORCE does not fall to zero")
    transformer = name.startswith("transformer")
    network = NETWORKS[name](**LARGER[transformer]).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005 if transformer else 0.02)
    labels = padded([5, 6, 7, 3], [8, 9, 10, 11, 12, 3], [4, 3])
    for _ in range(100):
        logits = network.logits(network(SOURCES, INPUTS).features)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.ids.flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.02:
            return
    pytest.fail(f"the loss is {loss.item()} after 100 steps")
