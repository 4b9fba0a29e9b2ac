"""Where an agent looks: densities, gradients, and what is not learned."""

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from zoo.attention import CenterPolicy, LearnedPolicy, LocationPolicy, Look, RandomPolicy

STATE = 5


def learned(std: float = 0.2) -> LearnedPolicy:
    torch.manual_seed(0)
    return LearnedPolicy(state_size=STATE, std=std)


def test_the_density_is_that_of_the_sample_before_it_was_brought_into_the_image() -> None:
    policy = learned(std=2.0)  # wide, so that many samples lie outside
    state = torch.randn(400, STATE)
    torch.manual_seed(1)
    look = policy(state, sample=True)
    torch.manual_seed(1)
    drawn = torch.normal(look.mean, 2.0)
    assert (drawn.abs() > 1).any()
    assert torch.equal(look.location, drawn.clamp(-1, 1))
    expected = Normal(look.mean, 2.0).log_prob(drawn).sum(-1)
    torch.testing.assert_close(look.log_prob.detach(), expected)
    torch.testing.assert_close(look.mean, policy.linear(state).tanh().detach())


def test_samples_have_the_spread_that_was_asked_for() -> None:
    policy = learned(std=0.1)
    look = policy(torch.randn(STATE).expand(20_000, STATE), sample=True)
    torch.testing.assert_close(look.location.std(0), torch.full((2,), 0.1), atol=0.005, rtol=0)
    torch.testing.assert_close(look.location.mean(0), look.mean[0], atol=0.005, rtol=0)


def test_only_the_density_has_a_gradient_and_only_for_the_policy() -> None:
    policy = learned()
    state = torch.randn(7, STATE, requires_grad=True)
    look = policy(state, sample=True)
    assert not look.location.requires_grad
    assert not look.mean.requires_grad
    look.log_prob.sum().backward()
    assert state.grad is None
    assert all(parameter.grad.abs().sum() > 0 for parameter in policy.parameters())


def test_the_gradient_of_the_density_leads_towards_the_sample() -> None:
    policy = learned()
    state = torch.randn(1, STATE)
    look = policy(state, sample=True)
    (gradient,) = torch.autograd.grad(look.log_prob.sum(), [policy.linear.bias])
    # d log p / d bias = (l - mean) / std^2 * (1 - mean^2)
    unclamped = look.location[0]
    expected = (unclamped - look.mean[0]) / 0.2**2 * (1 - look.mean[0] ** 2)
    assert unclamped.abs().max() < 1
    torch.testing.assert_close(gradient, expected)


def test_looks_of_an_episode_are_those_one_by_one() -> None:
    class Leftwards(LearnedPolicy):
        def forward(self, state: Tensor, *, sample: bool) -> Look:
            look = super().forward(state, sample=sample)
            return look._replace(location=look.location - 1)

    states = torch.randn(3, 7, STATE)
    hooked, halved, other = learned(), learned(), learned()
    other.__class__ = Leftwards
    hooked.register_forward_hook(lambda module, given, look: look._replace(location=look.location + 1))
    halved.register_forward_pre_hook(lambda module, given: (given[0] / 2,))
    for policy in (learned(), hooked, halved, other):
        torch.manual_seed(2)
        expected = [policy(state, sample=True) for state in states]
        torch.manual_seed(2)
        looks = policy.looks(len(states))
        locations = [looks.choose(state) for state in states]
        gradients = []
        for chosen in (expected, looks.chosen(states)):
            loss = sum((time + 1) * look.log_prob.sum() for time, look in enumerate(chosen))
            gradients.append(torch.autograd.grad(loss, list(policy.parameters())))
        for look, one, location in zip(looks.chosen(states), expected, locations, strict=True):
            assert torch.equal(location, look.location)
            assert not location.requires_grad
            torch.testing.assert_close(look, one)
        torch.testing.assert_close(*gradients)


def test_without_sampling_it_looks_at_the_mean() -> None:
    look = learned()(torch.randn(3, 4, STATE), sample=False)
    assert look.location.shape == (3, 4, 2)
    assert torch.equal(look.location, look.mean)
    assert look.log_prob is None
    assert learned()(torch.randn(STATE), sample=False).location.shape == (2,), "of a state alone"


def test_mixed_precision_leaves_densities_alone() -> None:
    policy = learned()
    with torch.autocast("cpu", torch.bfloat16):
        look = policy(torch.randn(3, STATE).bfloat16(), sample=True)
    assert look.log_prob.dtype == look.location.dtype == torch.float32


@pytest.mark.parametrize("sample", [True, False])
def test_controls_have_no_log_probability(sample: bool) -> None:
    state = torch.randn(1000, STATE)
    policies: list[LocationPolicy] = [RandomPolicy(state_size=STATE), CenterPolicy(state_size=STATE)]
    random, centre = (policy(state, sample=sample) for policy in policies)
    assert random.log_prob is centre.log_prob is None
    assert not centre.location.any()
    assert random.location.min() >= -1
    assert random.location.max() <= 1
    torch.testing.assert_close(random.location.var(0), torch.full((2,), 1 / 3), atol=0.04, rtol=0)
    assert not [*policies[0].parameters(), *policies[1].parameters()]


@pytest.mark.parametrize("std", [0.0, 1e-25, -1.0, float("inf"), float("nan")])
def test_a_spread_is_needed(std: float) -> None:
    with pytest.raises(ValueError, match="LearnedPolicy: std="):
        LearnedPolicy(state_size=STATE, std=std)
