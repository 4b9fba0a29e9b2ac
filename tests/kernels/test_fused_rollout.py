"""An episode whose gradients are found over all steps at once, against the network's own steps."""

from collections.abc import Sequence
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from zoo.kernels import FusedRollout, RolloutWeights

G, H, WHAT, WHERE, N = 7, 6, 5, 4, 3


def weights() -> RolloutWeights:
    generator = torch.Generator().manual_seed(1)
    shapes = [(WHAT, G), (WHERE, 2), (H, WHAT), (H, WHERE), (H, H), (H, H)]
    made = (
        torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
        for size in (shape, shape[:1])
    )
    return RolloutWeights(*made)


def plain(w: RolloutWeights, glimpses: Tensor, locations: Tensor) -> list[Tensor]:
    """The equations, one step after the other."""
    linear, hidden, states = nn.functional.linear, glimpses.new_zeros(N, H), []
    for glimpse, location in zip(glimpses, locations, strict=True):
        what = linear(glimpse, w.what, w.what_bias).relu()
        where = linear(location, w.where, w.where_bias).relu()
        joined = linear(what, w.join_what, w.join_what_bias) + linear(where, w.join_where, w.join_where_bias)
        fed = linear(joined.relu(), w.of_input, w.input_bias)
        hidden = (fed + linear(hidden, w.of_state, w.state_bias)).relu()
        states.append(hidden)
    return states


def at_once(w: RolloutWeights, glimpses: Tensor, locations: Tensor) -> Sequence[Tensor]:
    episode = FusedRollout(w, steps=len(glimpses), agents=N)
    steps = [episode.step(glimpse, location) for glimpse, location in zip(glimpses, locations, strict=True)]
    states = episode.states()
    assert not steps[0].requires_grad
    assert all(map(torch.equal, steps, states))
    assert torch.equal(episode.known(), torch.stack([torch.zeros_like(steps[0]), *steps[:-1]]))
    return states


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("of", ["all", "last", "first"])
def test_states_and_gradients_are_those_of_the_steps(steps: int, of: str) -> None:
    generator = torch.Generator().manual_seed(2)
    glimpses = torch.rand(steps, N, G, generator=generator).double()
    locations = torch.rand(steps, N, 2, generator=generator).double()
    weight = torch.randn(steps, N, H, generator=generator).double()  # of each number in the loss
    counted = {"all": range(steps), "last": [steps - 1], "first": [0]}[of]
    found = []
    for run in (plain, at_once):
        w = weights()
        for scale in (1.0, 2.0):  # gradients add up
            states = run(w, glimpses, locations)
            torch.stack([scale * states[step] * weight[step] for step in counted]).sum().backward()
        found.append((torch.stack([*states]).detach(), *(part.grad for part in w)))
    for name, one, other in zip(("states", *RolloutWeights._fields), *found, strict=True):
        assert one.any() or (counted[-1], name) == (0, "of_state"), name
        torch.testing.assert_close(other, one, rtol=1e-12, atol=1e-12, msg=partial("{}: {}".format, name))


@pytest.mark.parametrize("steps", [1, 3])
def test_second_derivatives_are_those_of_the_steps(steps: int) -> None:
    """Of the last state alone, too, whose gradient is a constant."""
    generator = torch.Generator().manual_seed(2)
    glimpses = torch.rand(steps, N, G, generator=generator).double()
    locations = torch.rand(steps, N, 2, generator=generator).double()
    found = []
    for run in (plain, at_once):
        w = weights()
        w.where.requires_grad_(False)
        learned = [part for part in w if part.requires_grad]
        for loss in (
            run(w, glimpses, locations)[-1].sum(),
            torch.stack([*run(w, glimpses, locations)]).sin().sum(),
        ):
            firsts = torch.autograd.grad(loss, learned, create_graph=True, materialize_grads=True)
            sum(first.square().sum() for first in firsts).backward()
        found.append([part.grad for part in learned])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-10, atol=1e-10)


def test_a_fused_rollout_refuses_torch_func() -> None:
    w = [part.detach() for part in weights()]
    with pytest.raises(RuntimeError, match="FusedRollout writes into buffers"):
        torch.func.vmap(lambda *w: FusedRollout(RolloutWeights(*w), steps=1, agents=N).known())(
            *(part[None] for part in w)
        )


def test_an_episode_that_is_not_over_has_no_states() -> None:
    episode = FusedRollout(weights(), steps=2, agents=N)
    episode.step(torch.rand(N, G).double(), torch.rand(N, 2).double())
    with pytest.raises(ValueError, match="states after 1 of 2 steps"):
        episode.states()
