"""The controls of the Neural Turing Machine: their traces show what an answer rests on."""

from functools import partial

import pytest
import torch
from torch import nn

from zoo.attention import General, ScaledDot, Soft
from zoo.core.spec import DataSpec, VectorSpec
from zoo.networks.positions import Sinusoidal
from zoo.networks.sequences import SequenceLSTM, SequenceTransformer

SPEC = DataSpec("copy", {"inputs": VectorSpec(3), "targets": VectorSpec(2)})


def lstm(**options: object) -> nn.Module:
    return SequenceLSTM(spec=SPEC, hidden_size=8, layers=1, **options)  # type: ignore[arg-type]


NETWORKS = {
    "lstm_attention": partial(lstm, attention={"score": General, "selection": Soft}),
    "transformer": partial(
        SequenceTransformer,
        spec=SPEC,
        attention={"score": ScaledDot},
        positions=Sinusoidal,
        hidden_size=8,
        feed_forward_size=8,
        heads=2,
        layers=3,
        dropout=0.0,
    ),
}
HEADS = {"lstm_attention": 1, "transformer": 6}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_trace_of_a_control_has_weights_over_its_past(name: str) -> None:
    torch.manual_seed(1)
    network = NETWORKS[name]().eval()
    inputs = torch.randn(4, 5, 3)
    answer = network(inputs)
    reads, writes, over_steps = answer.trace
    assert over_steps
    assert reads.shape == (4, 5, HEADS[name], 5)
    assert writes.shape == (4, 5, 0, 5)
    torch.testing.assert_close(reads.sum(-1), torch.ones(4, 5, HEADS[name]))
    assert not reads.permute(0, 2, 1, 3).triu(1).any(), "a step saw what comes after it"
    later = inputs.clone()
    later[:, 3:] = 0.0
    torch.testing.assert_close(network(later).logits[:, :3], answer.logits[:, :3])


def test_the_context_is_read_by_the_weights_of_the_trace() -> None:
    torch.manual_seed(1)
    network = NETWORKS["lstm_attention"]()
    inputs = torch.randn(2, 5, 3)
    answer = network(inputs)
    states, _ = network.lstm(inputs)
    contexts = answer.trace.read_weights[:, :, 0] @ states
    torch.testing.assert_close(network.output(torch.cat([states, contexts], -1)), answer.logits)


def test_what_attends_to_nothing_has_no_trace() -> None:
    assert lstm()(torch.randn(2, 5, 3)).trace is None
