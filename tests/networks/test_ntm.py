"""The Neural Turing Machine against a loop of equations 1 to 9, a number at a time."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.attention import ContentAndLocation, Cosine, Score, Selection, Soft, Uniform
from zoo.core.spec import DataSpec, TextSpec, VectorSpec
from zoo.kernels.memory_heads import written
from zoo.networks.ntm import Controller, FeedForwardController, LSTMController, NeuralTuringMachine

CHANNELS, OUTPUTS, LOCATIONS, WIDTH, HIDDEN = 3, 2, 5, 4, 6
SPEC = DataSpec("copy", {"inputs": VectorSpec(CHANNELS), "targets": VectorSpec(OUTPUTS)})
CONTROLLERS = {
    "feed_forward": partial(FeedForwardController, hidden_size=HIDDEN),
    "lstm": partial(LSTMController, hidden_size=HIDDEN, layers=2),
}


def build(
    controller: str = "lstm",
    *,
    score: type[Score] = Cosine,
    selection: type[Selection] = ContentAndLocation,
    random: bool = True,
    spec: DataSpec = SPEC,
    **changes: Any,
) -> NeuralTuringMachine:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "locations": LOCATIONS,
        "width": WIDTH,
        "read_heads": 2,
        "write_heads": 2,
        "first_memory": 0.1,
    }
    network = NeuralTuringMachine(
        spec=spec,
        controller=CONTROLLERS[controller],
        attention={"score": score, "selection": selection},
        **(sizes | changes),
    ).double()
    if random:
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    return network


def randn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def softplus(value: float) -> float:
    return math.log1p(math.exp(value))


def normalised(values: list[float]) -> list[float]:
    return [value / sum(values) for value in values]


def cosine(one: list[float], other: list[float]) -> float:
    """(6)"""
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (math.hypot(*one) * math.hypot(*other))


class ByHand:
    """One sequence, of plain numbers; only the controller and linear maps are torch's."""

    def __init__(self, network: NeuralTuringMachine) -> None:
        self.network = network
        self.heads = network.read_heads + network.write_heads
        self.memory = [[network.first_memory] * WIDTH for _ in range(LOCATIONS)]
        self.reads = network.first_reads.tolist()
        assert network.first_weights is not None
        self.last = [normalised([math.exp(one) for one in head]) for head in network.first_weights.tolist()]
        self.controller, self.state = network.controller.begin(1)

    def weights(self, head: int, key: Tensor, emitted: float, focus: Tensor) -> list[float]:
        score: Any = self.network.attention.score
        selection: Any = self.network.attention.selection
        strength = softplus(emitted) * softplus((score.w(key[None]) + score.b).item())
        content = normalised(
            [math.exp(strength * cosine(key.tolist(), row)) for row in self.memory]
        )  # (5), (6)
        gate, sharpness, *shifts = selection.W(focus[None, None])[0, 0].tolist()
        gate, power = 1 / (1 + math.exp(-gate)), 1 + softplus(sharpness)
        gated = [gate * c + (1 - gate) * w for c, w in zip(content, self.last[head], strict=True)]  # (7)
        chances = normalised([math.exp(shift) for shift in shifts])
        shifted = [
            sum(chances[shift + 1] * gated[(i - shift) % LOCATIONS] for shift in (-1, 0, 1))
            for i in range(LOCATIONS)
        ]  # (8)
        return normalised([one**power for one in shifted])  # (9)

    def step(self, inputs: Tensor) -> tuple[Tensor, list[list[float]]]:
        network, reading = self.network, self.network.read_heads
        together = torch.cat([inputs, torch.tensor(self.reads, dtype=torch.float64)])[None]
        hidden, self.state = self.controller(together, self.state)
        heads, writing = self.heads, network.write_heads
        numbers = network.emit(hidden)[0]
        strengths, vectors = numbers[-heads:].tolist(), numbers[:-heads].view(-1, WIDTH)
        found = [
            self.weights(head, vectors[head], strengths[head], vectors[heads + head]) for head in range(heads)
        ]
        self.reads = [
            sum(found[head][i] * self.memory[i][m] for i in range(LOCATIONS))
            for head in range(reading)
            for m in range(WIDTH)
        ]  # (1) holds of the weights; (2)
        erase = vectors[2 * heads : 2 * heads + writing].sigmoid().tolist()
        add = vectors[2 * heads + writing :].tolist()
        for i in range(LOCATIONS):
            for m in range(WIDTH):
                for head in range(writing):  # (3)
                    self.memory[i][m] *= 1 - found[reading + head][i] * erase[head][m]
                for head in range(writing):  # (4)
                    self.memory[i][m] += found[reading + head][i] * add[head][m]
        self.last = found
        reads = torch.tensor(self.reads, dtype=torch.float64)
        return network.output(torch.cat([hidden[0], reads])), found


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_it_is_the_papers_equations(controller: str) -> None:
    network, inputs = build(controller), randn(3, 7, CHANNELS)
    answer = network(inputs)
    for row in range(3):
        machine = ByHand(network)
        for step in range(7):
            logits, weights = machine.step(inputs[row, step])
            torch.testing.assert_close(answer.logits[row, step], logits, rtol=0, atol=1e-10)
            found = torch.cat([answer.trace.read_weights[row, step], answer.trace.write_weights[row, step]])
            expected = torch.tensor(weights, dtype=torch.float64)
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
            torch.testing.assert_close(found.sum(-1), torch.ones(4, dtype=torch.float64))  # (1)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_gradients_are_those_of_the_equations(controller: str) -> None:
    network = build(controller, read_heads=1, write_heads=1)
    assert torch.autograd.gradcheck(
        lambda inputs: network(inputs).logits, randn(1, 4, CHANNELS).requires_grad_()
    )


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_the_future_changes_nothing(controller: str) -> None:
    network, inputs = build(controller), randn(2, 6, CHANNELS)
    changed = inputs.clone()
    changed[:, 4:] = 7
    torch.testing.assert_close(network(inputs).logits[:, :4], network(changed).logits[:, :4], rtol=0, atol=0)


def test_a_location_that_is_erased_holds_what_was_added() -> None:
    memory, add = randn(1, 3, 2), randn(1, 1, 2)
    weights = torch.tensor([[[0.0, 1.0, 0.0]]], dtype=torch.float64)
    found = written(memory, weights, torch.ones_like(add), add)
    expected = memory.clone()
    expected[:, 1] = add[:, 0]
    torch.testing.assert_close(found, expected)


def test_learning_begins_at_one_location() -> None:
    """With equal weights over an equal memory no location would ever differ from another."""
    network = build(random=False, first_memory=1e-6, locations=20)
    weights = network(randn(2, 5, CHANNELS)).trace.write_weights
    assert (weights[:, 0].argmax(-1) <= 1).all() or (weights[:, 0].argmax(-1) == 19).any()
    assert (weights.std(-1) > 0.01).all()


def test_by_content_alone_and_by_location_alone() -> None:
    inputs = randn(2, 6, CHANNELS)
    content = build(selection=Soft)
    assert content.first_weights is None
    assert content(inputs).logits.isfinite().all()
    location = build(score=Uniform)
    assert location(inputs).logits.isfinite().all()


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="locations must be at least 1, got 0"):
        build(locations=0)
    for near in (0.0, 4.9e-7, -4.9e-7):  # of rows of 4
        with pytest.raises(ValueError, match=r"first_memory must be at least 5\.0e-07"):
            build(first_memory=near)
    build(first_memory=-5.1e-7)
    with pytest.raises(ValueError, match="bit vectors"):
        build(spec=DataSpec("toy", {"inputs": TextSpec(tokenizer="x", size=5, maximum_length=3)}))


def test_a_controller_says_what_it_needs() -> None:
    with pytest.raises(NotImplementedError):
        Controller().begin(1)
