"""The estimator on a toy small enough to try every sample."""

import itertools
from collections.abc import Callable
from functools import partial

import pytest
import torch
from attention_cases import equal, leaf, randn

from zoo.attention import (
    Baseline,
    ConstantBaseline,
    LearnedBaseline,
    MovingAverageBaseline,
    NoBaseline,
    Reinforce,
    ReinforceTerms,
    SoftReadingBaseline,
    reward_to_go,
)

STATE = 3
KEYS = 3

BASELINES: dict[str, Callable[..., Baseline]] = {
    "none": NoBaseline,
    "constant": partial(ConstantBaseline, value=0.7),
    "moving_average": partial(MovingAverageBaseline, decay=0.5),
    "learned": LearnedBaseline,
    "soft_reading": SoftReadingBaseline,
}
every_baseline = pytest.mark.parametrize("name", BASELINES)


def make(name: str, **keywords: float) -> Reinforce:
    torch.manual_seed(0)
    reinforce = Reinforce(baseline=BASELINES[name](state_size=STATE), **keywords).double()
    call(reinforce, reward=torch.full((1, 2), 1.3), entropy=torch.zeros(1, 2))  # an average to begin with
    return reinforce


def call(reinforce: Reinforce, **changes: object) -> ReinforceTerms:
    shape = changes["reward"].shape
    arguments = {
        "log_prob": torch.zeros(shape).double(),
        "state": randn(*shape, STATE),
        "keep_mask": torch.ones(shape, dtype=torch.bool),
        "entropy": None,
        "soft_reward": randn(*shape, seed=7),
    }
    return reinforce(**{**arguments, **changes})


@every_baseline
def test_the_estimator_is_unbiased(name: str) -> None:
    """The gradient, averaged over all samples by probability, is the gradient of the expected reward.

    Two dependent steps: the first choice changes the second's distribution and reward. The reward of a step
    is what follows from it.
    """
    first, second = leaf(randn(KEYS, seed=1)), leaf(randn(KEYS, KEYS, seed=2))
    rewards = (randn(KEYS, seed=3), randn(KEYS, KEYS, seed=4))
    reinforce = make(name)
    reinforce.eval()  # the average stays what it was

    expected_reward, estimate = torch.zeros(()), torch.zeros(())
    for i, j in itertools.product(range(KEYS), repeat=2):
        log_prob = torch.stack([first.log_softmax(0)[i], second[i].log_softmax(0)[j]])
        probability = log_prob.sum().exp()
        expected_reward = expected_reward + probability * (rewards[0][i] + rewards[1][i, j])
        reward = torch.stack([rewards[0][i] + rewards[1][i, j], rewards[1][i, j]])
        # The baseline sees what was known before each choice.
        state = torch.stack([randn(STATE, seed=5), randn(STATE, seed=6 + i)])
        known = {"state": state[None], "soft_reward": state[None, :, 0]}
        terms = call(reinforce, log_prob=log_prob[None], reward=reward[None], **known)
        estimate = estimate + probability.detach() * terms.reinforce
    exact = torch.autograd.grad(expected_reward, (first, second), retain_graph=True)
    estimated = torch.autograd.grad(-estimate, (first, second))
    for actual, wanted in zip(estimated, exact, strict=True):
        equal(actual, wanted)
        assert wanted.abs().max() > 0.01


def test_a_good_baseline_reduces_the_variance() -> None:
    reward, log_prob = 5 + 0.1 * randn(50, 1), leaf(randn(50, 1, seed=9))
    spreads = {}
    for name, baseline in {
        "none": NoBaseline(state_size=1),
        "constant": ConstantBaseline(state_size=1, value=5),
    }.items():
        terms = call(Reinforce(baseline=baseline), reward=reward, log_prob=log_prob, state=randn(50, 1, 1))
        spreads[name] = torch.autograd.grad(terms.loss, log_prob)[0].square().mean()
    assert spreads["constant"] < 0.01 * spreads["none"]


def test_a_soft_baseline_without_its_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the expected reward under soft attention, given None"):
        call(make("soft_reading"), reward=randn(2, 3), soft_reward=None)


@every_baseline
def test_terms_are_sums_over_steps_and_means_over_the_batch(name: str) -> None:
    reinforce = make(name, entropy_weight=0.3)
    log_prob, reward, entropy = randn(2, 3, seed=1), randn(2, 3, seed=2), randn(2, 3, seed=3)
    state, keep = randn(2, 3, STATE), torch.tensor([[True] * 3, [True, False, False]])
    soft = randn(2, 3, seed=4)
    before = soft if name == "soft_reading" else reinforce.baseline(state).double().expand(2, 3)
    given = {"state": state, "keep_mask": keep, "entropy": entropy, "soft_reward": soft}
    terms = call(reinforce, log_prob=log_prob, reward=reward, **given)
    real = [(b, t) for b in range(2) for t in range(3) if keep[b, t]]
    gains = torch.stack([reward[at] - before[at] for at in real])
    expected = -sum(log_prob[at] * gain for at, gain in zip(real, gains, strict=True)) / 2
    bonus = sum(entropy[at] for at in real) / 2
    mse = sum(gain**2 for gain in gains) / 2
    equal(terms.reinforce, expected)
    equal(terms.entropy, bonus)
    equal(terms.reward, sum(reward[at] for at in real) / 4)
    equal(terms.advantage_std, gains.std(correction=0))
    rewards = torch.stack([reward[at] for at in real])
    equal(terms.explained_variance, 1 - gains.var(correction=0) / rewards.var(correction=0))
    if name == "learned":
        equal(terms.baseline_mse, mse)
        expected = expected + mse
    else:
        assert terms.baseline_mse is None
    equal(terms.loss, expected - 0.3 * bonus)


@every_baseline
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf])
def test_padded_steps_count_for_nothing(name: str, garbage: float) -> None:
    keep = torch.tensor([[True, True, False], [True, False, False]])
    results = []
    for filler in (0.0, garbage):
        reinforce = make(name, entropy_weight=0.1)
        log_prob, reward, entropy = (
            leaf(randn(2, 3, seed=seed).masked_fill(~keep, filler)) for seed in (1, 2, 3)
        )
        terms = call(reinforce, log_prob=log_prob, reward=reward, keep_mask=keep, entropy=entropy)
        terms.loss.backward()
        gradients = [log_prob.grad, entropy.grad, *(p.grad for p in reinforce.parameters())]
        averages = [buffer.clone() for buffer in reinforce.buffers()]
        results.append([*(term for term in terms if term is not None), *gradients, *averages])
    for clean, dirty in zip(*results, strict=True):
        assert torch.equal(clean, dirty)
    nothing = call(make(name), reward=randn(2, 3), keep_mask=torch.zeros(2, 3, dtype=torch.bool))
    assert all(term.isfinite() for term in nothing if term is not None)


@every_baseline
def test_whole_numbers_are_rewards_too(name: str) -> None:
    found = []
    for numbers in (torch.float32, torch.int64, torch.bool):
        log_prob = leaf(randn(2, 3, seed=1).float())
        terms = call(make(name), log_prob=log_prob, reward=(randn(2, 3, seed=2) > 0).to(numbers))
        terms.loss.backward()
        found.append([*(term for term in terms if term is not None), log_prob.grad])
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            equal(another, one)


@every_baseline
def test_without_a_mask_all_steps_are_real(name: str) -> None:
    found = []
    for keep in (None, torch.ones(2, 3, dtype=torch.bool)):
        log_prob = leaf(randn(2, 3, seed=1))
        terms = call(make(name), log_prob=log_prob, reward=randn(2, 3, seed=2), keep_mask=keep)
        terms.loss.backward()
        found.append([*(term for term in terms if term is not None), log_prob.grad])
    for one, other in zip(*found, strict=True):
        equal(one, other)


@every_baseline
def test_gradients_stay_where_they_belong(name: str) -> None:
    """Neither reward nor state get any; the squared error trains the baseline alone."""
    reinforce = make(name)
    log_prob, reward, state = leaf(randn(2, 3, seed=1)), leaf(randn(2, 3, seed=2)), leaf(randn(2, 3, STATE))
    terms = call(reinforce, log_prob=log_prob, reward=reward, state=state)
    terms.loss.backward()
    assert reward.grad is None
    assert state.grad is None
    assert log_prob.grad.abs().min() > 0
    if name == "learned":
        both = [p.grad.clone() for p in reinforce.parameters()]
        again = call(reinforce, log_prob=log_prob, reward=reward, state=state)
        for gradient, alone in zip(
            both, torch.autograd.grad(again.baseline_mse, reinforce.parameters()), strict=True
        ):
            equal(gradient, alone)
            assert alone.abs().max() > 0


def test_a_learned_baseline_learns_the_expected_reward() -> None:
    reinforce = make("learned")
    optimizer = torch.optim.SGD(reinforce.parameters(), 0.01)
    state = randn(20, 5, STATE)
    reward = state @ torch.tensor([1.0, -2.0, 0.5]).double() + 3
    for _ in range(300):
        optimizer.zero_grad()
        call(reinforce, reward=reward, state=state).loss.backward()
        optimizer.step()
    terms = call(reinforce, reward=reward, state=state)
    assert terms.advantage_std < 0.01
    assert terms.explained_variance > 0.999


@every_baseline
@pytest.mark.parametrize("same", [0.0, 0.1])
def test_of_equal_rewards_nothing_is_to_be_explained(name: str, same: float) -> None:
    terms = call(make(name), reward=torch.full((7, 3), same))
    assert terms.explained_variance == 0


def test_a_moving_average_is_that_of_the_rewards_before() -> None:
    reinforce = Reinforce(baseline=MovingAverageBaseline(state_size=STATE, decay=0.8)).double()
    rewards, average, weight = [2.0, 5.0, -1.0], 0.0, 0.0
    for reward in rewards:
        used = float(reinforce.baseline(randn(1, 1, STATE)))
        assert used == pytest.approx(average / weight if weight else 0)
        reinforce.baseline.update(call(reinforce, reward=torch.full((2, 3), reward).double()).reward)
        average, weight = 0.8 * average + 0.2 * reward, 0.8 * weight + 0.2
    call(reinforce, reward=torch.full((2, 3), 100.0).double())
    assert float(reinforce.baseline(randn(1, 1, STATE))) == pytest.approx(average / weight), "only when told"
    restored = MovingAverageBaseline(state_size=STATE, decay=0.8).double()
    restored.load_state_dict(reinforce.baseline.state_dict())
    equal(restored(randn(1, 1, STATE)), reinforce.baseline(randn(1, 1, STATE)))


def test_half_precision_comes_out_in_float32() -> None:
    reinforce = Reinforce(baseline=LearnedBaseline(state_size=STATE))
    state, reward = randn(2, 3, STATE).bfloat16(), torch.full((2, 3), 1.001)
    with torch.autocast("cpu", torch.bfloat16):
        terms = call(reinforce, log_prob=randn(2, 3).bfloat16(), reward=reward.bfloat16(), state=state)
        exact = reinforce.baseline(state.float())
    assert all(term.dtype == torch.float32 for term in terms if term is not None)
    assert exact.dtype == torch.float32


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="decay=1"):
        MovingAverageBaseline(state_size=STATE, decay=1)
    with pytest.raises(ValueError, match=r"entropy_weight=0.1 needs the entropy"):
        call(Reinforce(baseline=NoBaseline(state_size=STATE), entropy_weight=0.1), reward=randn(2, 3))


def test_no_value_is_fetched_from_the_device() -> None:
    """On `meta` every `.item()` and `if tensor` fails."""
    for name in set(BASELINES) - {"learned"}:  # autocast does not know the device
        reinforce = make(name).to("meta")
        terms = call(
            reinforce,
            log_prob=torch.zeros(2, 3, device="meta"),
            reward=torch.zeros(2, 3, device="meta"),
            state=torch.zeros(2, 3, STATE, device="meta"),
            keep_mask=torch.ones(2, 3, dtype=torch.bool, device="meta"),
            soft_reward=torch.zeros(2, 3, device="meta"),
        )
        assert terms.loss.device.type == "meta"


def test_a_choice_is_rewarded_with_what_follows_it() -> None:
    reward = torch.tensor([[1.0, 0.0, 2.0]])
    assert reward_to_go(reward).tolist() == [[3.0, 2.0, 2.0]]
    assert reward_to_go(reward, 0.5).tolist() == [[1.5, 1.0, 2.0]]
    assert reward_to_go(reward, 0.0).tolist() == reward.tolist()
    assert reward_to_go(torch.tensor([[0, 0, 1]]), 0.5).tolist() == [[0.25, 0.5, 1.0]], "whole numbers, too"
    assert reward_to_go(reward.double().expand(2, 5, 3), 0.5).shape == (2, 5, 3)


def test_returns_stay_exact_in_mixed_precision() -> None:
    reward = torch.rand(4, 18)
    with torch.autocast("cpu", torch.bfloat16):
        returns = reward_to_go(reward, 0.9)
    assert returns.dtype == torch.float32
    assert torch.equal(returns, reward_to_go(reward, 0.9))
