"""An agent's steps, of which each needs the one before, with gradients that do not."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from zoo.kernels.onednn import linear


class EpisodeWeights(NamedTuple):
    """Those of a glimpse network and a rectified core, as `torch.nn.Linear` has them.

    Attributes:
        what, where, join_what, join_where: of the glimpse network, each with its bias.
        of_input, of_state: of the core, each with its bias.
    """

    what: Tensor
    what_bias: Tensor
    where: Tensor
    where_bias: Tensor
    join_what: Tensor
    join_what_bias: Tensor
    join_where: Tensor
    join_where_bias: Tensor
    of_input: Tensor
    input_bias: Tensor
    of_state: Tensor
    state_bias: Tensor


class RectifiedEpisode:
    """`g = Rect(W₁ Rect(W₂ x) + W₃ Rect(W₄ l))`, `h = Rect(W₅ g + W₆ h)` for glimpses x at locations l.

    Where an agent looks depends on what it saw before, so steps are taken one by one, without a graph. What
    leads back through them depends on the states alone; all else in the backward pass is one product for
    each weight, over all steps:

        episode = RectifiedEpisode(weights, steps=T, agents=N)
        for glimpse, location in ...:
            hidden = episode.step(glimpse, location)  # without a gradient
        states = episode.states()  # the same, with one

    Args:
        weights: float32 or float64.
        steps: T.
        agents: N, at once.
    """

    def __init__(self, weights: EpisodeWeights, *, steps: int, agents: int) -> None:
        self._weights = weights
        self._seen: list[tuple[Tensor, Tensor]] = []
        w, size = weights, len(weights.of_input)
        with torch.no_grad():
            self._join = torch.cat([w.join_what, w.join_where], 1)
            self._join_bias = w.join_what_bias + w.join_where_bias
            self._core = torch.cat([w.of_input, w.of_state], 1)
            self._core_bias = w.input_bias + w.state_bias
            # What each step's core is given, its own input and the state before: the last is given to none.
            self._given = w.of_input.new_empty(steps + 1, agents, 2 * size)
            self._given[0, :, size:] = 0
            self._joined = w.of_input.new_empty(steps, agents, self._join.shape[1])
        self._fed, self._states = self._given.split(size, -1)

    @torch.no_grad()
    def step(self, glimpse: Tensor, location: Tensor) -> Tensor:
        """Looks once more; the first step begins without a memory.

        Args:
            glimpse: x, `(N, G)`.
            location: l, `(N, 2)`.

        Returns:
            h, `(N, H)`.
        """
        w, step = self._weights, len(self._seen)
        self._seen.append((glimpse, location))
        parts = linear(glimpse, w.what, w.what_bias), linear(location, w.where, w.where_bias)
        joined = torch.cat(parts, 1, out=self._joined[step]).relu_()
        torch.clamp_min(linear(joined, self._join, self._join_bias), 0, out=self._fed[step])
        hidden = linear(self._given[step], self._core, self._core_bias)
        return torch.clamp_min(hidden, 0, out=self._states[step + 1])

    def states(self) -> Tensor:
        """All that `step` returned, `(T, N, H)`."""
        glimpses, locations = (torch.stack(parts) for parts in zip(*self._seen, strict=True))
        states: Tensor = _States.apply(glimpses, locations, self._joined, self._given, *self._weights)
        return states


class _States(Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        *recorded, given = inputs[:4]
        w = EpisodeWeights(*inputs[4:])
        ctx.save_for_backward(*recorded, given, w.join_what, w.join_where, w.of_input, w.of_state)
        return given[1:, :, len(w.of_input) :]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        glimpses, locations, joined, given, join_what, join_where, of_input, of_state = ctx.saved_tensors
        size = len(of_input)
        fed, states = given[:-1, :, :size].flatten(0, 1), given[1:, :, size:]
        of_states = gradient.new_empty(states.shape)  # before they were rectified
        later = gradient[-1]
        for step in reversed(range(len(states))):
            _unrectified(later, states[step], out=of_states[step])
            if step:
                later = gradient[step - 1] + linear(of_states[step], of_state.mT)
        flat, bias = of_states.flatten(0, 1), of_states.sum((0, 1))
        of_fed = linear(flat, of_input.mT)
        _unrectified(of_fed, fed, out=of_fed)
        joined, join_bias = joined.flatten(0, 1), of_fed.sum(0)
        of_joined = linear(of_fed, torch.cat([join_what, join_where], 1).mT)
        _unrectified(of_joined, joined, out=of_joined)
        parts = [join_what.shape[1], join_where.shape[1]]
        (seen, place), (seen_bias, place_bias) = (
            of_joined.split(parts, 1),
            of_joined.sum(0).split(parts),
        )
        of_join_what, of_join_where = linear(of_fed.mT, joined.mT).split(parts, 1)
        of_core = linear(flat.mT, given[:-1].flatten(0, 1).mT)
        return (
            *(None,) * 4,
            *(linear(seen.mT, glimpses.flatten(0, 1).mT), seen_bias),
            *(linear(place.mT, locations.flatten(0, 1).mT), place_bias),
            # Of equal biases, too, each has a gradient of its own, which may be changed in place.
            *(of_join_what, join_bias, of_join_where, join_bias.clone()),
            *(of_core[:, :size], bias, of_core[:, size:], bias.clone()),
        )


def _unrectified(gradient: Tensor, rectified: Tensor, *, out: Tensor) -> None:
    """Lets a gradient through where the number was above zero."""
    torch.ops.aten.threshold_backward.grad_input(gradient, rectified, 0, grad_input=out)
