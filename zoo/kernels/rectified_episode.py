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

        episode = RectifiedEpisode(weights)
        for glimpse, location in ...:
            hidden = episode.step(glimpse, location)  # without a gradient
        states = episode.states()  # the same, with one

    Args:
        weights: float32 or float64.
    """

    def __init__(self, weights: EpisodeWeights) -> None:
        self._weights = weights
        with torch.no_grad():
            self._join = torch.cat([weights.join_what, weights.join_where], 1)
            self._join_bias = weights.join_what_bias + weights.join_where_bias
            self._bias = weights.input_bias + weights.state_bias
        self._steps: list[tuple[Tensor, ...]] = []

    @torch.no_grad()
    def step(self, glimpse: Tensor, location: Tensor) -> Tensor:
        """Looks once more; the first step begins without a memory.

        Args:
            glimpse: x, `(N, G)`.
            location: l, `(N, 2)`.

        Returns:
            h, `(N, H)`.
        """
        w = self._weights
        parts = linear(glimpse, w.what, w.what_bias), linear(location, w.where, w.where_bias)
        joined = torch.cat(parts, 1).relu_()
        fed = linear(joined, self._join, self._join_bias).relu_()
        hidden = linear(fed, w.of_input, self._bias)
        if self._steps:
            hidden += linear(self._steps[-1][-1], w.of_state)
        self._steps.append((glimpse, location, joined, fed, hidden.relu_()))
        return hidden

    def states(self) -> Tensor:
        """All that `step` returned, `(T, N, H)`."""
        recorded = [torch.stack(parts) for parts in zip(*self._steps, strict=True)]
        states: Tensor = _States.apply(*recorded, *self._weights)
        return states


class _States(Function):
    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> Tensor:
        *recorded, states = given[:5]
        weights = EpisodeWeights(*given[5:])
        through = (weights.join_what, weights.join_where, weights.of_input, weights.of_state)
        ctx.save_for_backward(*recorded, states, *through)
        return states.view_as(states)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        glimpses, locations, joined, fed, states, join_what, join_where, of_input, of_state = (
            ctx.saved_tensors
        )
        of_states = torch.empty_like(states)  # before they were rectified
        later = gradient[-1]
        for step in reversed(range(len(states))):
            _unrectified(later, states[step], out=of_states[step])
            if step:
                later = gradient[step - 1] + linear(of_states[step], of_state.mT)
        flat, bias = of_states.flatten(0, 1), of_states.sum((0, 1))
        fed, joined = fed.flatten(0, 1), joined.flatten(0, 1)
        of_fed = linear(flat, of_input.mT)
        _unrectified(of_fed, fed, out=of_fed)
        of_joined = linear(of_fed, torch.cat([join_what, join_where], 1).mT)
        _unrectified(of_joined, joined, out=of_joined)
        parts = [join_what.shape[1], join_where.shape[1]]
        (seen, place), (seen_bias, place_bias) = (
            of_joined.split(parts, 1),
            of_joined.sum(0).split(parts),
        )
        of_join_what, of_join_where = linear(of_fed.mT, joined.mT).split(parts, 1)
        join_bias = of_fed.sum(0)
        return (
            *(None,) * 5,
            *(linear(seen.mT, glimpses.flatten(0, 1).mT), seen_bias),
            *(linear(place.mT, locations.flatten(0, 1).mT), place_bias),
            # Of equal biases, too, each has a gradient of its own, which may be changed in place.
            *(of_join_what, join_bias, of_join_where, join_bias.clone()),
            *(linear(flat.mT, fed.mT), bias),
            *(linear(of_states[1:].flatten(0, 1).mT, states[:-1].flatten(0, 1).mT), bias.clone()),
        )


def _unrectified(gradient: Tensor, rectified: Tensor, *, out: Tensor) -> None:
    """Lets a gradient through where the number was above zero."""
    torch.ops.aten.threshold_backward.grad_input(gradient, rectified, 0, grad_input=out)
