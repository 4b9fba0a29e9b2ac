"""REINFORCE: a gradient estimator for sampled choices (Williams 1992).

`∇ E[R] = E[Σ_t ∇ log p(i_t) (R_t - b_t)]`, unbiased for every baseline `b_t` that does not depend on the
sample `i_t` itself; a good baseline reduces the variance. `R_t` is the reward of step t (the rewards from t
on, or the whole episode's). Mnih et al. 2014, section 3.2, train glimpses and Xu et al. 2015, section 4.1,
hard attention by it.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zoo.kernels.precision import at_least_float32, without_autocast


def reward_to_go(reward: Tensor, discount: float = 1.0) -> Tensor:
    """`R_t = Σ_{u >= t} γ^{u-t} r_u`, the return of each choice (Mnih et al. 2014, section 3.2).

    Args:
        reward: `(*lead, T)` of any dtype, the reward right after each choice.
        discount: γ in [0, 1].

    Returns:
        `(*lead, T)`, in float32 at least.
    """
    reward = reward.to(at_least_float32(reward))
    step = torch.arange(reward.shape[-1], device=reward.device)
    later = (discount ** (step[:, None] - step).clamp(min=0)).tril()  # (reward, choice)
    with without_autocast(reward.device.type):
        return reward @ later.to(reward.dtype)


class ReinforceTerms(NamedTuple):
    """The terms of the loss, and values to monitor; all float32 scalars.

    Attributes:
        loss: `reinforce - entropy_weight * entropy + baseline_mse`, to be minimised.
        reinforce: `-Σ_t log p(i_t) (R_t - b_t)`, mean over the batch. Only its gradient has a meaning; its
            value may be negative.
        baseline_mse: `Σ_t (b_t - R_t)²`, mean over the batch; None unless the baseline is learned.
        entropy: `Σ_t H(p_t)`, mean over the batch; None where it was not given.
        reward: mean of `R_t` over the real steps.
        advantage_std: standard deviation of `R_t - b_t` over the real steps.
        explained_variance: `1 - Var(R_t - b_t) / Var(R_t)` over the real steps: 1 where the baseline predicts
            every reward, 0 where it predicts only their mean, or where all are the same.
    """

    loss: Tensor
    reinforce: Tensor
    baseline_mse: Tensor | None
    entropy: Tensor | None
    reward: Tensor
    advantage_std: Tensor
    explained_variance: Tensor


class Baseline(nn.Module, ABC):
    """Predicts the reward without knowing the sample.

    Args:
        state_size: D of the states.
    """

    learned: bool = False
    """Whether a squared error trains the baseline."""

    reads_softly: bool = False
    """Whether it takes a second argument: the expected rewards `(B, T)` under soft attention."""

    def __init__(self, *, state_size: int) -> None:
        super().__init__()
        self.state_size = state_size

    @abstractmethod
    def forward(self, state: Tensor) -> Tensor:
        """Predicted rewards, broadcastable to `(B, T)`, from states `(B, T, D)` before the sample."""

    def update(self, reward: Tensor) -> None:
        """Learns from a batch's mean reward, a scalar; the training loop calls it once after each step."""


class NoBaseline(Baseline):
    """No baseline: `b = 0`."""

    def forward(self, state: Tensor) -> Tensor:
        """See `Baseline`."""
        return state.new_zeros(())


class ConstantBaseline(Baseline):
    """A constant: `b = value`.

    Args:
        state_size: D of the states, not used.
        value: b.
    """

    def __init__(self, *, state_size: int, value: float) -> None:
        super().__init__(state_size=state_size)
        self.value = value

    def forward(self, state: Tensor) -> Tensor:
        """See `Baseline`."""
        return state.new_full((), self.value)


class MovingAverageBaseline(Baseline):
    """The mean of past rewards: `b ← decay b + (1 - decay) R` (Xu et al. 2015, section 4.1).

    Early averages are corrected for their start at zero. Before the first batch b is 0.

    Args:
        state_size: D of the states, not used.
        decay: in [0, 1).
    """

    total: Tensor
    weight: Tensor

    def __init__(self, *, state_size: int, decay: float = 0.9) -> None:
        super().__init__(state_size=state_size)
        if not 0 <= decay < 1:
            raise ValueError(f"MovingAverageBaseline: decay={decay}, must be in [0, 1)")
        self.decay = decay
        self.register_buffer("total", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(()))

    def forward(self, state: Tensor) -> Tensor:
        """See `Baseline`."""
        return self.total / self.weight.clamp_min(torch.finfo(self.weight.dtype).tiny)

    @torch.no_grad()
    def update(self, reward: Tensor) -> None:
        """See `Baseline`."""
        self.total.lerp_(reward.to(self.total.dtype), 1 - self.decay)
        self.weight.lerp_(torch.ones_like(self.weight), 1 - self.decay)


class LearnedBaseline(Baseline):
    """Learned from the state: `b_t = w·s_t + c`, by squared error (Mnih et al. 2014, section 3.2).

    The state is detached, so that the baseline does not train the network.

    Args:
        state_size: D of the states.
    """

    learned = True

    def __init__(self, *, state_size: int) -> None:
        super().__init__(state_size=state_size)
        self.linear = nn.Linear(state_size, 1)

    def forward(self, state: Tensor) -> Tensor:
        """See `Baseline`."""
        # In float32, as rewards are, also under mixed precision.
        with without_autocast(state.device.type):
            expected: Tensor = self.linear(state.detach().to(self.linear.weight.dtype))
        return expected.squeeze(-1)


class SoftReadingBaseline(Baseline):
    """The expected reward under soft attention: `b_t` is `r_t` if step t alone reads `Σ_i p_t(i) a_i`.

    It depends on the word to be written, which causes most of a reward's variance. With discount 0, where a
    reading is rewarded for its own word alone, the advantage says whether the sampled key helped more than
    the mixture of all. Rewards of later words are not predicted: they depend on the sample. The baseline of
    Xu et al. 2015 is the moving average; this one is that of MuProp (Gu et al. 2016) without its gradient, or
    of self-critical training (Rennie et al. 2017) with the expectation in place of the greedy choice.

    Args:
        state_size: D of the states, not used.
    """

    reads_softly = True

    def forward(self, state: Tensor, soft_reward: Tensor | None = None) -> Tensor:
        """See `Baseline`."""
        assert soft_reward is not None  # `Reinforce` checks that
        return soft_reward


class Reinforce(nn.Module):
    """The loss term that trains sampled readings.

    Args:
        baseline: is subtracted from the reward.
        entropy_weight: of the entropy bonus, which keeps the exploration going.
    """

    def __init__(self, *, baseline: Baseline, entropy_weight: float = 0.0) -> None:
        super().__init__()
        self.baseline, self.entropy_weight = baseline, entropy_weight

    def forward(
        self,
        *,
        log_prob: Tensor,
        reward: Tensor,
        state: Tensor,
        keep_mask: Tensor | None = None,
        entropy: Tensor | None = None,
        soft_reward: Tensor | None = None,
    ) -> ReinforceTerms:
        """Terms summed over steps and averaged over the batch.

        Args:
            log_prob: `(B, T)`, of the samples.
            reward: `(B, T)` of any dtype, of each step; no gradient goes into it.
            state: `(B, T, D)`, before each sample.
            keep_mask: `(B, T)` boolean, True at real steps; the others are ignored. None: all are real.
            entropy: `(B, T)`, of the sampled distributions; None without an entropy bonus.
            soft_reward: `(B, T)`, the expected reward under soft attention, if the baseline needs it.

        Raises:
            ValueError: if an entropy weight has no entropy, or a baseline no soft reward that it needs.
        """
        if entropy is None and self.entropy_weight:
            raise ValueError(f"entropy_weight={self.entropy_weight} needs the entropy, given None")
        steps = max(1, reward.numel()) if keep_mask is None else keep_mask.sum().clamp_min(1)

        def real(values: Tensor) -> Tensor:
            return values if keep_mask is None else torch.where(keep_mask, values, 0.0)

        reward = real(reward.detach().to(at_least_float32(reward)))
        if soft_reward is None and self.baseline.reads_softly:
            name = type(self.baseline).__name__
            raise ValueError(f"{name} needs the expected reward under soft attention, given None")
        known = (state, soft_reward) if self.baseline.reads_softly else (state,)
        expected = self.baseline(*known).to(reward.dtype)
        advantage = real(reward - expected)
        gain = advantage.detach()

        def total(values: Tensor) -> Tensor:
            return real(values.to(reward.dtype)).sum() / len(reward)

        reinforce = -total(log_prob * gain)
        loss, mse, bonus = reinforce, None, None
        if self.baseline.learned:
            mse = total(advantage.square())
            loss = loss + mse
        if entropy is not None:
            bonus = total(entropy)
            loss = loss - self.entropy_weight * bonus

        def variance(values: Tensor) -> Tensor:
            return real(values - values.sum() / steps).square().sum() / steps

        left, whole = variance(gain), variance(reward)
        differ = whole > torch.finfo(whole.dtype).eps * reward.square().sum() / steps
        explained = torch.where(differ, 1 - left / whole, 0.0)
        return ReinforceTerms(loss, reinforce, mse, bonus, reward.sum() / steps, left.sqrt(), explained)
