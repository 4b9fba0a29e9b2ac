"""Policies for the next location: hard attention over a continuum (Mnih et al. 2014, sections 3.1 and 4)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zoo.kernels.noise import normal_like, normals_like, uniform
from zoo.kernels.precision import at_least_float32, without_autocast
from zoo.kernels.unchanged import unchanged

_SMALLEST_STD = 1e-6
"""A millionth of half the image's side: the square of its reciprocal is well within float32."""


class Look(NamedTuple):
    """A choice of locations.

    Attributes:
        location: `(*lead, 2)`, (x, y) in [-1, 1]; without a gradient.
        mean: `(*lead, 2)`, the most likely location.
        log_prob: `(*lead,)`, log-density of the sample; None without sampling or without learning.
        entropy: `(*lead,)`, of the distribution; None as `log_prob`.
    """

    location: Tensor
    mean: Tensor
    log_prob: Tensor | None = None
    entropy: Tensor | None = None


class LocationPolicy(nn.Module, ABC):
    """Chooses the next location from the agent's state.

    Args:
        state_size: D of the states.
    """

    learned: bool = False
    """Whether REINFORCE trains it."""

    samples: bool = True
    """False where a sample is the most likely location itself, so that all episodes are the same."""

    def __init__(self, *, state_size: int) -> None:
        super().__init__()
        self.state_size = state_size

    @abstractmethod
    def forward(self, state: Tensor, *, sample: bool) -> Look:
        """Chooses from states `(*lead, D)`.

        Args:
            state: of the agent; no gradient goes into it.
            sample: False takes the most likely location.
        """

    def looks(self, number: int) -> "Looks":
        """Begins an episode of `number` sampled looks."""
        return Looks(self)


class Looks:
    """The sampled looks of an episode, each chosen after the glimpse before.

        looks = policy.looks(6)
        for _ in range(6):
            location = looks.choose(state)
        chosen = looks.chosen(states)  # the same, with gradients

    Args:
        policy: chooses.
    """

    def __init__(self, policy: LocationPolicy) -> None:
        self._policy = policy
        self._chosen: list[Look] = []

    def choose(self, state: Tensor) -> Tensor:
        """The next location `(*lead, 2)`, from the agent's state `(*lead, D)`."""
        # A copy: the policy's graph may keep it, while the caller overwrites the state.
        self._chosen.append(self._policy(state.clone(), sample=True))
        return self._chosen[-1].location

    def chosen(self, states: Tensor) -> Sequence[Look]:
        """All looks in order, with gradients.

        Args:
            states: `(T, *lead, D)`, the arguments of `choose`.
        """
        return self._chosen


class LearnedPolicy(LocationPolicy):
    """A Gaussian around a learned location: `l ~ N(tanh(W h + b), σ²)`, independent in x and y.

    REINFORCE trains it through `log_prob`, that of the sample before it is clamped to the image. The state is
    detached: the policy learns from rewards alone, the other parts from labels (section 3.2). The paper does
    not say how the mean stays inside the image; here it is by tanh.

    Args:
        state_size: D of the states.
        std: σ, in units of half the image's side.

    Raises:
        ValueError: if the spread is infinite, or so small that densities overflow float32.
    """

    learned = True

    def __init__(self, *, state_size: int, std: float) -> None:
        super().__init__(state_size=state_size)
        if not _SMALLEST_STD <= std < math.inf:
            raise ValueError(f"LearnedPolicy: std={std}, must be at least {_SMALLEST_STD:g}")
        self.std = std
        self.linear = nn.Linear(state_size, 2)

    def forward(self, state: Tensor, *, sample: bool) -> Look:
        """See `LocationPolicy`; samples from `zoo.kernels.noise`."""
        mean = self.mean(state)
        if not sample:
            return Look(mean.detach(), mean.detach())
        drawn = mean.detach() + self.std * normal_like(mean.detach())
        return Look(drawn.clamp(-1, 1), mean.detach(), *self.density(drawn, mean))

    def mean(self, state: Tensor) -> Tensor:
        """The most likely locations `(*lead, 2)`, in float32 at least, also under mixed precision."""
        with without_autocast(state.device.type):
            # As a matrix: torch would copy states that are not contiguous.
            known = state.detach().reshape(-1, state.shape[-1]).to(self.linear.weight.dtype)
            mean: Tensor = self.linear(known).tanh()
        return mean.view(*state.shape[:-1], 2)

    def density(self, drawn: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
        """The log-density of samples `(*lead, 2)`, and the entropy, both `(*lead,)`."""
        # Closed forms: `torch.distributions.Normal` takes a fifth of a small network's step.
        scale = math.log(2 * math.pi * self.std**2)
        log_prob = (drawn - mean).square().sum(-1) * (-0.5 / self.std**2) - scale
        return log_prob, torch.full_like(log_prob, 1 + scale)

    def looks(self, number: int) -> Looks:
        """See `LocationPolicy`."""
        if unchanged(self, LearnedPolicy):
            return LearnedLooks(self, number)
        return super().looks(number)  # which calls an overridden or hooked `forward`

    def extra_repr(self) -> str:
        """The spread, for `print(model)`."""
        return f"std={self.std}"


class LearnedLooks(Looks):
    """The looks of a learned policy, with one density and one backward pass for all.

    Args:
        policy: chooses.
        number: of looks.
    """

    def __init__(self, policy: LearnedPolicy, number: int) -> None:
        self._learned, self._number = policy, number
        self._noise: Sequence[Tensor] = ()
        self._steps: list[tuple[Tensor, Tensor, Tensor]] = []

    @torch.no_grad()
    def choose(self, state: Tensor) -> Tensor:
        """See `Looks`."""
        mean = self._learned.mean(state)
        if not self._steps:
            self._noise = normals_like(mean, self._number)
        drawn = torch.add(mean, self._noise[len(self._steps)], alpha=self._learned.std)
        location = drawn.clamp(-1, 1)
        self._steps.append((mean, drawn, location))
        return location

    def chosen(self, states: Tensor) -> Sequence[Look]:
        """See `Looks`."""
        means, drawn, locations = zip(*self._steps, strict=True)
        densities = self._learned.density(torch.stack(drawn), self._learned.mean(states))
        looks = zip(locations, means, *(density.unbind() for density in densities), strict=True)
        return [Look(*parts) for parts in looks]


class RandomPolicy(LocationPolicy):
    """Uniform over the image, a control (a row of Table 2).

    There is no most likely location, so it samples at test too.
    """

    def forward(self, state: Tensor, *, sample: bool) -> Look:
        """See `LocationPolicy`."""
        drawn = uniform((*state.shape[:-1], 2), state.device).to(at_least_float32(state))
        place = 2 * drawn - 1
        return Look(place, place)


class CenterPolicy(LocationPolicy):
    """Always the middle of the image."""

    samples = False

    def forward(self, state: Tensor, *, sample: bool) -> Look:
        """See `LocationPolicy`."""
        middle = state.new_zeros(*state.shape[:-1], 2, dtype=at_least_float32(state))
        return Look(middle, middle)
