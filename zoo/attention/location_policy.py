"""Where to look next: hard attention over a continuum of places (Mnih et al. 2014, sections 3.1 and 4)."""

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
    """A choice of places.

    Attributes:
        location: `(*lead, 2)`, (x, y) in [-1, 1]; without a gradient.
        mean: `(*lead, 2)`, the most likely place.
        log_prob: `(*lead,)`, log-density of the sample; None where nothing was sampled or nothing learns.
        entropy: `(*lead,)`, of the distribution, beside `log_prob`.
    """

    location: Tensor
    mean: Tensor
    log_prob: Tensor | None = None
    entropy: Tensor | None = None


class LocationPolicy(nn.Module, ABC):
    """Chooses the next location from what the agent knows.

    Args:
        state_size: D of the states.
    """

    learned: bool = False
    """True where REINFORCE trains it."""

    samples: bool = True
    """False where a sample is the most likely place itself, so that all episodes are the same."""

    def __init__(self, *, state_size: int) -> None:
        super().__init__()
        self.state_size = state_size

    @abstractmethod
    def forward(self, state: Tensor, *, sample: bool) -> Look:
        """Chooses from states `(*lead, D)`.

        Args:
            state: what the agent knows; no gradient goes into it.
            sample: False takes the most likely place.
        """

    def looks(self, number: int) -> "Looks":
        """Begins an episode of so many sampled looks."""
        return Looks(self)


class Looks:
    """An episode's sampled looks, of which each needs what was seen at the one before.

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
        """The next location `(*lead, 2)`, from what the agent knows, `(*lead, D)`."""
        # A copy, since the policy's graph may keep it, and the state's memory may be written to.
        self._chosen.append(self._policy(state.clone(), sample=True))
        return self._chosen[-1].location

    def chosen(self, states: Tensor) -> Sequence[Look]:
        """All of them, in the order of time.

        Args:
            states: `(T, *lead, D)`, what `choose` was given.
        """
        return self._chosen


class LearnedPolicy(LocationPolicy):
    """A Gaussian around a learned place: `l ~ N(tanh(W h + b), σ²)`, x and y apart.

    REINFORCE trains it through `log_prob`, of the sample as it was drawn; what the sensor is told is that
    sample within the image. The state is detached: where to look is learned from rewards alone, and what is
    seen from labels (section 3.2).

    Where this leaves the paper: it leaves open how the mean stays inside the image; this is a tanh.

    Args:
        state_size: D of the states.
        std: σ, in units of half the image's side.

    Raises:
        ValueError: if the spread is so small that densities are beyond float32, or none.
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
        """The most likely places `(*lead, 2)`, in float32 at least, whatever the mixed precision around."""
        with without_autocast(state.device.type):
            # As a matrix: of states that lie apart torch would make copies.
            known = state.detach().reshape(-1, state.shape[-1]).to(self.linear.weight.dtype)
            mean: Tensor = self.linear(known).tanh()
        return mean.view(*state.shape[:-1], 2)

    def density(self, drawn: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
        """The log-density of samples `(*lead, 2)`, and the entropy, both `(*lead,)`."""
        # Closed forms: `torch.distributions.Normal` costs a fifth of a small network's step.
        scale = math.log(2 * math.pi * self.std**2)
        log_prob = (drawn - mean).square().sum(-1) * (-0.5 / self.std**2) - scale
        return log_prob, torch.full_like(log_prob, 1 + scale)

    def looks(self, number: int) -> Looks:
        """See `LocationPolicy`."""
        if unchanged(self, LearnedPolicy):
            return LearnedLooks(self, number)
        return super().looks(number)  # which goes through whatever was put there

    def extra_repr(self) -> str:
        """The spread, for `print(model)`."""
        return f"std={self.std}"


class LearnedLooks(Looks):
    """Those of a learned policy, with one density, and one way back, for all.

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
    """Anywhere in the image, each place as likely: what looking is worth by itself (a row of Table 2).

    There is no most likely place, so it samples at test too.
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
