"""Deep fusion against the equations of its paper, in a loop."""

import torch
from network_cases import build, padded
from torch import Tensor, nn


def soft(score: nn.Module, query: Tensor, keys: list[Tensor]) -> Tensor:
    """`softmax_i(vᵀ tanh(W query + U key_i))`."""
    scores = [score.v.weight @ torch.tanh(score.W.weight @ query + score.U.weight @ key) for key in keys]
    return torch.cat(scores).softmax(0)


def weighted(weights: Tensor, rows: list[Tensor]) -> Tensor:
    return sum(weight * row for weight, row in zip(weights, rows, strict=True))  # type: ignore[return-value]


def test_equations_of_section_4() -> None:
    network = build("deep", layers=1).double().eval()
    for parameter in network.parameters():
        parameter.data.mul_(2)  # far from linear, so that a mistake shows
    decoder, (layer,) = network.decoder, network.decoder.stack.layers
    memory = network.encode(padded([4, 5, 6, 7, 3]))
    annotations = list(memory.memory.values[0])
    start = torch.tanh(decoder.bridge.weight @ memory.summary[0] + decoder.bridge.bias).chunk(2)
    tape, read, gamma, expected, weights = [start], torch.zeros(8).double(), torch.zeros(8).double(), [], []
    for token in [2, 5, 6, 7]:
        x = network.embed_target.weight[token]
        asked = decoder.query_of_input.weight @ x + decoder.query_of_read.weight @ gamma
        p = soft(decoder.attention.score, asked, annotations)
        gamma = weighted(p, annotations)
        alpha = weighted(p, [decoder.cells.weight @ annotation for annotation in annotations])
        r = torch.sigmoid(decoder.gate.weight @ torch.cat([gamma, x]) + decoder.gate.bias)

        asked = layer.query_of_input.weight @ x + layer.query_of_read.weight @ read
        s = soft(layer.attention.score, asked, [hidden for hidden, _ in tape])
        read, cell = weighted(s, [hidden for hidden, _ in tape]), weighted(s, [cell for _, cell in tape])
        gates = (
            layer.gates_of_input.weight @ x + layer.gates_of_input.bias + layer.gates_of_read.weight @ read
        )
        i, f, o, new = gates.chunk(4)
        cell = r * alpha + f.sigmoid() * cell + i.sigmoid() * new.tanh()
        hidden = o.sigmoid() * cell.tanh()
        tape.append((hidden, cell))
        expected.append(hidden)
        weights.append(p)
    decoded = network(padded([4, 5, 6, 7, 3]), padded([2, 5, 6, 7]))
    torch.testing.assert_close(decoded.features[0], torch.stack(expected))
    torch.testing.assert_close(decoded.weights[0], torch.stack(weights))


def test_queries_are_known_before_the_reading() -> None:
    """A baseline that saw the reading would bias the gradient of sampled ones."""
    network = build("deep").double().eval()
    memory = network.encode(padded([4, 5, 6, 7, 3]))
    inputs = padded([2, 5, 6, 7])
    changed = memory._replace(memory=memory.memory._replace(values=memory.memory.values + 1))
    before, after = network.decode(memory, inputs).queries, network.decode(changed, inputs).queries
    torch.testing.assert_close(before[:, 0], after[:, 0])
    assert not torch.allclose(before[:, 1], after[:, 1])
