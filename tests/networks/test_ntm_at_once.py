"""The Neural Turing Machine's whole sequence at once against its own steps."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.attention import ContentAndLocation, Cosine, Soft
from zoo.core.spec import DataSpec, VectorSpec
from zoo.networks import ntm
from zoo.networks.ntm import FeedForwardController, LSTMController, NeuralTuringMachine

CHANNELS = 3
SPEC = DataSpec("copy", {"inputs": VectorSpec(CHANNELS), "targets": VectorSpec(2)})
CONTROLLERS = {
    "feed_forward": partial(FeedForwardController, hidden_size=6),
    "lstm": partial(LSTMController, hidden_size=6, layers=1),
    "two lstms": partial(LSTMController, hidden_size=6, layers=2),
}
HEADS = [(1, 1, 1), (2, 2, 1), (1, 3, 2), (2, 1, 0)]
"""Heads that read and that write, and the farthest shift."""


def build(
    controller: Any, reading: int = 1, writing: int = 1, shift: int = 1, **parts: Any
) -> NeuralTuringMachine:
    torch.manual_seed(0)
    attention: Any = {"score": Cosine, "selection": partial(ContentAndLocation, farthest_shift=shift)} | parts
    network = NeuralTuringMachine(
        spec=SPEC,
        controller=controller,
        attention=attention,
        locations=5,
        width=4,
        read_heads=reading,
        write_heads=writing,
        first_memory=0.1,
    )
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5)
    return network


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def found(network: NeuralTuringMachine, inputs: Tensor) -> list[Tensor]:
    """Logits and weights of a pass, and gradients of all parameters and the inputs by all of these."""
    inputs = inputs.clone().requires_grad_()
    answer = network(inputs)
    outputs = [answer.logits, *answer.trace[:2]]
    total = sum((one * randn(*one.shape, seed=2).to(one)).sum() for one in outputs)
    assert isinstance(total, Tensor)
    return outputs + list(torch.autograd.grad(total, [*network.parameters(), inputs]))


def step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntm, "machine_runs", lambda *_: False)


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the fast path an error."""

    def used(*_: object) -> None:
        raise AssertionError("the whole sequence at once")

    monkeypatch.setattr(ntm, "run_machine", used)


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_it_is_the_same_as_its_steps(
    controller: str, heads: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = build(CONTROLLERS[controller], *heads).double()
    for batch, steps in ((1, 1), (1, 5), (3, 1), (3, 5)):
        inputs = randn(batch, steps, CHANNELS)
        at_once = found(network, inputs)
        with monkeypatch.context() as patch:
            step_by_step(patch)
            torch.testing.assert_close(at_once, found(network, inputs), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_gradients_are_the_numerical_ones(controller: str) -> None:
    network = build(CONTROLLERS[controller], 2, 2).double()
    inputs = randn(2, 3, CHANNELS).requires_grad_()
    weights = list(network.parameters())
    # The numbers of the parameters change in place, where the network finds them.
    assert torch.autograd.gradcheck(
        lambda inputs, *_: network(inputs).logits, (inputs, *weights), fast_mode=True
    )


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_step_of_training_in_float32_is_the_same(controller: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = randn(3, 5, CHANNELS).float()

    def trained() -> list[Tensor]:
        network = build(CONTROLLERS[controller])
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)  # others enlarge what is rounded
        network(inputs).logits.square().mean().backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        return [*network.parameters(), network(inputs).logits]

    at_once = trained()
    step_by_step(monkeypatch)
    torch.testing.assert_close(at_once, trained(), rtol=1e-4, atol=1e-5)


def test_a_backward_pass_can_be_repeated() -> None:
    network = build(CONTROLLERS["two lstms"], 1, 2)
    total = network(randn(2, 4, CHANNELS).float()).logits.square().sum()
    weights = list(network.parameters())
    once = torch.autograd.grad(total, weights, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(total, weights), once, rtol=0, atol=0)


def test_vectors_without_direction_have_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build(CONTROLLERS["lstm"])
    network.first_memory = 1e-8
    with torch.no_grad():  # keys of length 0
        keys = network.emitted[0] * network.width
        network.emit.weight[:keys] = 0.0
        network.emit.bias[:keys] = 0.0
    inputs = randn(2, 3, CHANNELS).float()
    at_once = found(network, inputs)
    assert all(one.isfinite().all() for one in at_once)
    step_by_step(monkeypatch)
    torch.testing.assert_close(at_once, found(network, inputs), rtol=1e-4, atol=1e-5)


def test_the_usual_network_is_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch)
    with pytest.raises(AssertionError, match="at once"):
        build(CONTROLLERS["lstm"])(randn(1, 2, CHANNELS).float())


class OwnController(LSTMController):
    """A user's own."""


class OwnMachine(NeuralTuringMachine):
    """A user's own, with an addressing of its own."""

    def address(self, *given: Any) -> tuple[Tensor, Tensor | None]:
        """See there."""
        return super().address(*given)


def test_others_are_computed_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch)
    inputs = randn(1, 2, CHANNELS).float()
    lstm = CONTROLLERS["lstm"]
    build(lstm, selection=Soft)(inputs)
    build(lstm, score=partial(Cosine, strength_from_query=False))(inputs)
    build(lstm, shift=5)(inputs)
    build(partial(OwnController, hidden_size=6, layers=1))(inputs)
    with torch.no_grad():
        build(lstm)(inputs)
    watched = build(lstm)
    watched.attention.selection.register_forward_hook(lambda *_: None)
    watched(inputs)
    own = build(lstm)
    own.__class__ = OwnMachine
    own(inputs)
    torch.func.functional_call(own, dict(own.named_parameters()), inputs)
    torch.vmap(lambda rows: build(lstm)(rows).logits, randomness="same")(inputs[None])


@pytest.mark.parametrize("selection", [ContentAndLocation, Soft], ids=["at once", "step by step"])
def test_under_mixed_precision_the_steps_are_float32(selection: Any) -> None:
    network, inputs = build(CONTROLLERS["lstm"], selection=selection), randn(2, 5, CHANNELS).float()
    logits, *whole = found(network, inputs)
    with torch.autocast("cpu", torch.bfloat16):
        answer = network(inputs)
    answer.logits.float().square().sum().backward()  # outside, as in a training
    assert answer.logits.dtype is torch.bfloat16
    torch.testing.assert_close(answer.logits.float(), logits, rtol=0.05, atol=0.1)
    for one, other in zip(answer.trace[:2], whole, strict=False):
        torch.testing.assert_close(one, other)
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in network.parameters())
