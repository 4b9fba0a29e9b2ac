"""RMSProp in the form of Graves 2013."""

import copy
import math

import pytest
import torch
from torch import nn

from zoo.training.graves_rmsprop import GravesRMSProp


def randn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_steps_are_those_of_the_equations() -> None:
    weights = [nn.Parameter(randn(2, 3)), nn.Parameter(randn(4, seed=2)), nn.Parameter(randn(1))]
    optimizer = GravesRMSProp(weights, lr=0.01, alpha=0.9, momentum=0.5, eps=1e-3)
    start = [weight.detach().clone() for weight in weights]
    gradients = [[randn(*weight.shape, seed=10 * step) for weight in weights[:2]] for step in range(5)]
    for of_step in gradients:
        for weight, gradient in zip(weights, of_step, strict=False):  # the last one has no gradient
            weight.grad = gradient
        optimizer.step()
    for number, weight in enumerate(weights[:2]):
        for place, value in enumerate(start[number].flatten().tolist()):
            square = mean = move = 0.0
            for of_step in gradients:
                gradient = of_step[number].flatten()[place].item()
                square = 0.9 * square + 0.1 * gradient**2
                mean = 0.9 * mean + 0.1 * gradient
                move = 0.5 * move - 0.01 * gradient / math.sqrt(square - mean**2 + 1e-3)
                value += move
            assert weight.flatten()[place].item() == pytest.approx(value, abs=1e-12)
    assert torch.equal(weights[2], start[2])


def test_a_gradient_that_stays_the_same_leaves_finite_weights() -> None:
    """The mean square less the squared mean is then 0, and below it by rounding in float32."""
    weight = nn.Parameter(torch.linspace(0.5, 1.0, 200))
    optimizer = GravesRMSProp([weight], eps=1.4e-8)
    for _ in range(300):
        weight.grad = torch.linspace(0.5, 1.0, 200)
        optimizer.step()
    assert weight.isfinite().all()


def test_training_goes_on_from_a_saved_state() -> None:
    def step(weight: nn.Parameter, optimizer: GravesRMSProp) -> None:
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()

    weight = nn.Parameter(randn(3))
    optimizer = GravesRMSProp([weight])
    step(weight, optimizer)
    other = nn.Parameter(weight.detach().clone())
    resumed = GravesRMSProp([other])
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    step(weight, optimizer)
    step(other, resumed)
    assert torch.equal(weight, other)


@pytest.mark.parametrize("setting", [{"alpha": 1.0}, {"momentum": -0.1}, {"lr": -1.0}, {"eps": 0.0}])
def test_a_setting_out_of_range_is_refused(setting: dict[str, float]) -> None:
    (name,) = setting
    with pytest.raises(ValueError, match=name):
        GravesRMSProp([nn.Parameter(randn(1))], **setting)
