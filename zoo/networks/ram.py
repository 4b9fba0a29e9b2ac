"""The recurrent attention model: an agent that sees an image by glimpses (Mnih et al. 2014, section 3.1).

`RecurrentAttentionModel.episode` asks for the current image at each step, takes a glimpse of it and yields
the new state; the caller acts on that state, which may change the next image: a still image is classified at
the end, a game goes on meanwhile.

Shapes: B images, M episodes with each (they differ in their samples), k scales, C channels, g pixels of a
patch's side, H hidden size.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zoo.attention import GlimpseSensor, LocationPolicy, Look
from zoo.attention.glimpse import ImageMemory, useful_scales
from zoo.core.spec import DataSpec
from zoo.kernels import FusedRollout, Linear, RolloutWeights
from zoo.kernels.precision import autocast_dtype
from zoo.kernels.transforms import transformed
from zoo.kernels.unchanged import unchanged
from zoo.networks.checks import check_sizes
from zoo.networks.recurrent import Rectified, RecurrentLayer, State
from zoo.runtime.compiling import compilable


class GlimpseNetwork(nn.Module):
    """`f_g` of a glimpse and its location: `g = Rect(Linear(h_g) + Linear(h_l))` (section 4).

    `h_g = Rect(Linear(ρ(x, l)))` and `h_l = Rect(Linear(l))`. The paper leaves the initialisation open; here
    it is that of He et al. 2015.

    Args:
        glimpse_size: numbers in one glimpse, of all scales and channels.
        hidden_size: of `h_g` and of `h_l`.
        output_size: of `g`.
    """

    def __init__(self, *, glimpse_size: int, hidden_size: int, output_size: int) -> None:
        super().__init__()
        self.what, self.where = Linear(glimpse_size, hidden_size), Linear(2, hidden_size)
        self.join_what, self.join_where = (Linear(hidden_size, output_size) for _ in range(2))
        for layer in (self.what, self.where, self.join_what, self.join_where):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)

    def forward(self, glimpse: Tensor, location: Tensor) -> Tensor:
        """`(N, k, C, g, g)` and `(N, 2)` to `(N, output_size)`."""
        what, where = self.what(glimpse.flatten(1)).relu(), self.where(location).relu()
        joined: Tensor = (self.join_what(what) + self.join_where(where)).relu()
        return joined


class Glimpsed(NamedTuple):
    """One glimpse.

    Attributes:
        look: `(B, M, ...)`, the location and its probability.
        glimpse: `(B, M, k, C, g, g)`.
        known: `(B, M, H)`, the state h_{t-1} from which the location was chosen.
        hidden: `(B, M, H)`, the new state h_t.
    """

    look: Look
    glimpse: Tensor
    known: Tensor
    hidden: Tensor


class Recognised(NamedTuple):
    """The classification of images.

    Attributes:
        logits: `(B, M, K)`, scores of K classes.
        glimpses: in order; empty for a network that sees whole images.
    """

    logits: Tensor
    glimpses: tuple[Glimpsed, ...] = ()


class RecurrentAttentionModel(nn.Module):
    """Sensor, glimpse network `f_g`, core `f_h`, location network `f_l` and action network `f_a`.

    The classification loss trains all but the location network, which learns by REINFORCE alone (section
    3.2). The first location comes from `f_l` of the zero state; the paper leaves it open.

    Args:
        spec: the images, and the classes, which are the actions.
        policy: `f_l`, completed here with the size of the state.
        recurrent: `f_h`, completed here; `Rectified` for still images, `LSTM` for moving ones (section 4).
        glimpses: T, for a still image.
        glimpse_size: g_w, pixels along each side of the sensor's patches.
        scales: k, its patches; at most as many as `zoo.attention.glimpse.useful_scales` says.
        glimpse_hidden_size: of `h_g` and `h_l`.
        hidden_size: of `g` and of the state.

    Raises:
        ValueError: if a size is below 1, there are more scales than useful, or the data has no images.
    """

    def __init__(
        self,
        *,
        spec: DataSpec,
        policy: Callable[..., LocationPolicy],
        recurrent: RecurrentLayer,
        glimpses: int,
        glimpse_size: int,
        scales: int,
        glimpse_hidden_size: int,
        hidden_size: int,
    ) -> None:
        super().__init__()
        check_sizes(glimpses=glimpses, glimpse_size=glimpse_size, scales=scales)
        check_sizes(glimpse_hidden_size=glimpse_hidden_size, hidden_size=hidden_size)
        image = spec.image()
        if scales > (most := useful_scales(glimpse_size, image.height, image.width)):
            raise ValueError(
                f"scales must be at most {most}, got {scales}: patch {most} of"
                f" {glimpse_size * 2 ** (most - 1)} pixels a side, each twice as wide as the one before,"
                f" holds the whole image of {image.height} x {image.width} from any place"
            )
        self.glimpses, self.hidden_size = glimpses, hidden_size
        self.sensor = GlimpseSensor(size=glimpse_size, scales=scales)
        self.glimpse_network = GlimpseNetwork(
            glimpse_size=scales * image.channels * glimpse_size**2,
            hidden_size=glimpse_hidden_size,
            output_size=hidden_size,
        )
        self.core = recurrent(input_size=hidden_size, hidden_size=hidden_size)
        self.policy = policy(state_size=hidden_size)
        self.action = Linear(hidden_size, len(spec.label().classes))

    def recognise(self, images: Tensor, *, episodes: int = 1, sample: bool = False) -> Recognised:
        """Classifies still images `(B, C, H, W)` after M = `episodes` independent episodes with each.

        Args:
            images: in [0, 1].
            episodes: M.
            sample: False looks at the most likely locations.
        """
        if sample and torch.is_grad_enabled() and self._can_fuse(images):
            glimpses = self._still_episode(images, episodes)
        else:
            glimpses = tuple(self.episode(lambda: images, self.glimpses, episodes=episodes, sample=sample))
        return Recognised(self.action(glimpses[-1].hidden), glimpses)

    def episode(
        self, observe: Callable[[], Tensor], steps: int, *, episodes: int = 1, sample: bool = False
    ) -> Iterator[Glimpsed]:
        """Yields glimpse after glimpse; the caller may act in between.

        Args:
            observe: returns the current images `(B, C, H, W)`.
            steps: number of glimpses.
            episodes: M independent agents for each image.
            sample: False looks at the most likely locations.
        """
        images = observe()
        memory = self.sensor.prepare(images)
        nothing = images.new_zeros(len(images), episodes, self.hidden_size)
        state: State = self.core.empty(nothing)
        for step in range(steps):
            if step and (now := observe()) is not images:
                images, memory = now, self.sensor.prepare(now)
            glimpsed, state = self.step(memory, state, sample=sample)
            yield glimpsed

    @compilable
    def step(self, memory: ImageMemory, state: State, *, sample: bool) -> tuple[Glimpsed, State]:
        """Chooses a location, takes a glimpse there and updates the state.

        Args:
            memory: B images, prepared by the sensor.
            state: of the agents, tensors `(B, M, H)`.
            sample: False looks at the most likely location.
        """
        known = state[0]
        look = self.policy(known, sample=sample)
        glimpse = self.sensor(memory, look.location)
        fed = self.glimpse_network(glimpse.flatten(0, 1), look.location.flatten(0, 1))
        after = self.core.step(fed, tuple(part.flatten(0, 1) for part in state))
        state = tuple(part.unflatten(0, known.shape[:2]) for part in after)
        return Glimpsed(look, glimpse, known, state[0]), state

    def _can_fuse(self, images: Tensor) -> bool:
        """Whether `_still_episode` equals `episode`: no part is replaced, hooked or compiled."""
        parts, kinds = list(self.glimpse_network.modules()), [GlimpseNetwork] + [Linear] * 4
        return (
            autocast_dtype(images.device.type) is None
            and not images.requires_grad
            and not transformed()
            and type(self).episode is RecurrentAttentionModel.episode
            and getattr(self.step, "__func__", None) is RecurrentAttentionModel.step
            and getattr(self.core.step, "__func__", None) is Rectified.step
            and unchanged(self.sensor, GlimpseSensor)
            and [type(part) for part in parts] == kinds
            and all(map(unchanged, parts, kinds))
        )

    def _still_episode(self, images: Tensor, episodes: int) -> tuple[Glimpsed, ...]:
        """A sampled `episode` on still images, with one backward pass over all steps."""
        memory = self.sensor.prepare(images)
        looks = self.policy.looks(self.glimpses)
        steps = FusedRollout(self._episode_weights(), steps=self.glimpses, agents=len(images) * episodes)
        known = images.new_zeros(len(images), episodes, self.hidden_size)
        seen = []
        for _ in range(self.glimpses):
            location = looks.choose(known)
            glimpse = self.sensor(memory, location)
            hidden = steps.step(glimpse.flatten(0, 1).flatten(1), location.flatten(0, 1))
            known = hidden.unflatten(0, known.shape[:2])
            seen.append(glimpse)
        begun = steps.known().unflatten(1, known.shape[:2])
        states = [state.unflatten(0, known.shape[:2]) for state in steps.states()]
        parts = zip(looks.chosen(begun), seen, begun.unbind(), states, strict=True)
        return tuple(Glimpsed(*glimpsed) for glimpsed in parts)

    def _episode_weights(self) -> RolloutWeights:
        parts = self.glimpse_network
        layers = (parts.what, parts.where, parts.join_what, parts.join_where)
        of_input, of_state, input_bias, state_bias = self.core.parameters()
        weights = [weight for layer in layers for weight in (layer.weight, layer.bias)]
        return RolloutWeights._make([*weights, of_input, input_bias, of_state, state_bias])
