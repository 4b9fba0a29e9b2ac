"""An agent's steps one by one, with one backward pass for all of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function

from zoo.kernels.onednn import linear, linear_into
from zoo.kernels.transforms import transformed


class RolloutWeights(NamedTuple):
    """The weights of a glimpse network and a rectified core, as in `torch.nn.Linear`.

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


class FusedRollout:
    """`g = Rect(W₁ Rect(W₂ x) + W₃ Rect(W₄ l))`, `h = Rect(W₅ g + W₆ h)` for glimpses x at locations l.

    A location depends on the glimpses before, so steps run one by one, without a graph. The backward pass
    goes back through the states step by step and then takes one product over all steps for each weight:

        episode = FusedRollout(weights, steps=T, agents=N)
        for glimpse, location in ...:
            hidden = episode.step(glimpse, location)  # without a gradient
        states = episode.states()  # the same, with one

    Args:
        weights: float32 or float64.
        steps: T.
        agents: N, at once.

    Raises:
        RuntimeError: under `torch.func` or forward-mode differentiation, which are not supported.
    """

    def __init__(self, weights: RolloutWeights, *, steps: int, agents: int) -> None:
        if transformed():
            raise RuntimeError(
                "FusedRollout writes into buffers, which torch.func and forward-mode gradients cannot "
                "follow: call the network's own steps"
            )
        self._weights = weights
        self._seen: list[tuple[Tensor, Tensor]] = []
        w, size = weights, len(weights.of_input)
        with torch.no_grad():
            self._join = torch.cat([w.join_what, w.join_where], 1)
            self._join_bias = w.join_what_bias + w.join_where_bias
            self._core = torch.cat([w.of_input, w.of_state], 1)
            self._core_bias = w.input_bias + w.state_bias
            # The input of each step's core, g and the state before; the last row holds the last state.
            self._given = w.of_input.new_empty(steps + 1, agents, 2 * size)
            self._given[0, :, size:] = 0
            self._joined = w.of_input.new_empty(steps, agents, self._join.shape[1])
        # Views of the buffers for each step.
        fed, states = self._given.split(size, -1)
        what, where = self._joined.split([len(w.what), len(w.where)], -1)
        places = (what, where, self._joined, fed[:-1], self._given[:-1], states[1:])
        self._places = list(zip(*(place.unbind() for place in places), strict=True))

    @torch.no_grad()
    def step(self, glimpse: Tensor, location: Tensor) -> Tensor:
        """Computes the next state; the first step starts from zeros.

        Args:
            glimpse: x, `(N, G)`.
            location: l, `(N, 2)`.

        Returns:
            h, `(N, H)`.
        """
        w = self._weights
        what, where, joined, fed, given, state = self._places[len(self._seen)]
        self._seen.append((glimpse, location))
        linear_into(what, glimpse, w.what, w.what_bias)
        linear_into(where, location, w.where, w.where_bias)
        linear_into(fed, joined.relu_(), self._join, self._join_bias).relu_()
        return linear_into(state, given, self._core, self._core_bias).relu_()

    def known(self) -> Tensor:
        """The state before each step, `(T, N, H)`; without a gradient."""
        return self._given[:-1, :, len(self._weights.of_input) :]

    def states(self) -> tuple[Tensor, ...]:
        """The T states `(N, H)` that `step` returned, with a gradient.

        Raises:
            ValueError: there were fewer steps.
        """
        if len(self._seen) < len(self._places):
            raise ValueError(f"FusedRollout: states after {len(self._seen)} of {len(self._places)} steps")
        glimpses, locations = (torch.stack(parts) for parts in zip(*self._seen, strict=True))
        states: tuple[Tensor, ...] = _States.apply(
            glimpses, locations, self._joined, self._given, self._join, *self._weights
        )
        return states


class _States(Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
        recorded, w = inputs[:5], RolloutWeights(*inputs[5:])
        ctx.save_for_backward(*recorded, *w)
        ctx.parts = [len(w.what), len(w.where)]
        ctx.set_materialize_grads(False)  # as a rule only the last state has one
        *_, given, _ = recorded
        return given[1:, :, len(w.of_input) :].unbind()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        glimpses, locations, joined, given, join, *weights = ctx.saved_tensors
        w = RolloutWeights(*weights)
        if torch.is_grad_enabled():
            return *(None,) * 5, *_with_history(w, glimpses, locations, gradients)
        of_input, of_state, size = w.of_input, w.of_state, len(w.of_input)
        fed, known = (part.flatten(0, 1) for part in given[:-1].split(size, -1))
        states = given[1:, :, size:]
        of_states = given.new_empty(states.shape)  # before they were rectified
        after: Tensor | None = None
        steps = zip(gradients, states.unbind(), of_states.unbind(), strict=True)
        for gradient, state, of_state_before in reversed(list(steps)):
            if after is not None:
                later = linear(after, of_state.mT)
                gradient = later if gradient is None else gradient + later
            if gradient is None:
                of_state_before.zero_()
            else:
                after = of_state_before
                _relu_backward(gradient, state, out=after)
        flat, bias = of_states.flatten(0, 1), of_states.sum((0, 1))
        of_fed = linear(flat, of_input.mT)
        _relu_backward(of_fed, fed, out=of_fed)
        joined, join_bias = joined.flatten(0, 1), of_fed.sum(0)
        of_joined = linear(of_fed, join.mT)
        _relu_backward(of_joined, joined, out=of_joined)
        seen, place = of_joined.split(ctx.parts, 1)
        seen_bias, place_bias = of_joined.sum(0).split(ctx.parts)
        what, where = joined.split(ctx.parts, 1)
        return (
            *(None,) * 5,
            *(linear(seen.mT, glimpses.flatten(0, 1).mT), seen_bias),
            *(linear(place.mT, locations.flatten(0, 1).mT), place_bias),
            # A copy for each bias, since gradients may be changed in place.
            *(linear(of_fed.mT, what.mT), join_bias, linear(of_fed.mT, where.mT), join_bias.clone()),
            *(linear(flat.mT, fed.mT), bias, linear(flat.mT, known.mT), bias.clone()),
        )


def _step_by_step(w: RolloutWeights, glimpses: Tensor, locations: Tensor) -> tuple[Tensor, ...]:
    """The states `(N, H)` with all of their derivatives."""
    states: list[Tensor] = []
    for glimpse, location in zip(glimpses, locations, strict=True):
        what = linear(glimpse, w.what, w.what_bias).relu()
        where = linear(location, w.where, w.where_bias).relu()
        joined = linear(what, w.join_what, w.join_what_bias) + linear(where, w.join_where, w.join_where_bias)
        fed = linear(joined.relu(), w.of_input, w.input_bias) + w.state_bias
        states.append((linear(states[-1], w.of_state) + fed if states else fed).relu())
    return tuple(states)


def _with_history(
    w: RolloutWeights, glimpses: Tensor, locations: Tensor, gradients: Sequence[Tensor | None]
) -> Sequence[Tensor | None]:
    """The weights' gradients with a graph, for second derivatives."""
    states = _step_by_step(w, glimpses, locations)
    after = [
        torch.zeros_like(state) if one is None else one for state, one in zip(states, gradients, strict=True)
    ]
    learned = [weight for weight in w if weight.requires_grad]
    found = iter(torch.autograd.grad(states, learned, after, create_graph=True, materialize_grads=True))
    return [next(found) if weight.requires_grad else None for weight in w]


def _relu_backward(gradient: Tensor, rectified: Tensor, *, out: Tensor) -> None:
    """The gradient before a ReLU, from that behind it and the ReLU's output."""
    torch.ops.aten.threshold_backward.grad_input(gradient, rectified, 0, grad_input=out)
