"""The recurrent attention model: equations, what may shape what, and independence of a world."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from zoo.attention import (
    Additive,
    CenterPolicy,
    GlimpseSensor,
    LearnedPolicy,
    LocationPolicy,
    Look,
    RandomPolicy,
    Soft,
)
from zoo.attention.glimpse import ImageMemory
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.networks.image_classifiers import Convolutional, FullyConnected
from zoo.networks.lstmn import LSTMN
from zoo.networks.ram import Glimpsed, RecurrentAttentionModel
from zoo.networks.recurrent import GRU, LSTM, Rectified, RecurrentLayer, State

CLASSES = ("one", "two", "three")
SPEC = DataSpec("x", {"image": ImageSpec(channels=1, height=9, width=12), "label": LabelSpec(CLASSES)})
LEARNED = partial(LearnedPolicy, std=0.2)


def make(
    *,
    policy: Callable[..., LocationPolicy] = LEARNED,
    recurrent: RecurrentLayer = Rectified,
    channels: int = 1,
    **changes: int,
) -> RecurrentAttentionModel:
    torch.manual_seed(0)
    spec = DataSpec("x", {"image": ImageSpec(channels, 9, 12), "label": LabelSpec(CLASSES)})
    sizes = {"glimpses": 3, "glimpse_size": 4, "scales": 2, "glimpse_hidden_size": 5, "hidden_size": 6}
    return RecurrentAttentionModel(spec=spec, policy=policy, recurrent=recurrent, **{**sizes, **changes})


def images(count: int = 2, channels: int = 1, seed: int = 0) -> Tensor:
    return torch.rand(count, channels, 9, 12, generator=torch.Generator().manual_seed(seed))


def test_the_equations_of_the_paper() -> None:
    """One episode by hand, in float64, from the text of sections 3.1 and 4."""
    network = make().double()
    image = images(1).double()
    recognised = network.recognise(image)
    weights = {name: value.detach() for name, value in network.named_parameters()}

    def linear(name: str, value: Tensor) -> Tensor:
        return weights[f"{name}.weight"] @ value + weights[f"{name}.bias"]

    def relu(value: Tensor) -> Tensor:
        return torch.where(value > 0, value, 0.0)

    hidden = torch.zeros(6).double()
    for glimpsed in recognised.glimpses:
        location = linear("policy.linear", hidden).tanh()
        torch.testing.assert_close(glimpsed.look.location[0, 0], location)
        seen = network.sensor(network.sensor.prepare(image), location.reshape(1, 1, 2))
        torch.testing.assert_close(glimpsed.glimpse[0, 0], seen[0, 0])
        what = relu(linear("glimpse_network.what", seen.flatten()))
        where = relu(linear("glimpse_network.where", location))
        fed = relu(linear("glimpse_network.join_what", what) + linear("glimpse_network.join_where", where))
        of_input = weights["core.layer.weight_ih_l0"] @ fed + weights["core.layer.bias_ih_l0"]
        of_state = weights["core.layer.weight_hh_l0"] @ hidden + weights["core.layer.bias_hh_l0"]
        torch.testing.assert_close(glimpsed.known[0, 0], hidden)
        hidden = relu(of_input + of_state)
        torch.testing.assert_close(glimpsed.hidden[0, 0], hidden)
    torch.testing.assert_close(recognised.logits[0, 0], linear("action", hidden))


@pytest.mark.parametrize("recurrent", [Rectified, LSTM, GRU])
@pytest.mark.parametrize("channels", [1, 3])
def test_shapes(recurrent: RecurrentLayer, channels: int) -> None:
    network = make(recurrent=recurrent, channels=channels)
    recognised = network.recognise(images(2, channels), episodes=5, sample=True)
    assert recognised.logits.shape == (2, 5, 3)
    assert len(recognised.glimpses) == 3
    first = recognised.glimpses[0]
    assert first.glimpse.shape == (2, 5, 2, channels, 4, 4)
    assert first.known.shape == first.hidden.shape == (2, 5, 6)
    assert first.look.location.shape == (2, 5, 2)
    assert first.look.log_prob is not None
    assert first.look.log_prob.shape == (2, 5)


def test_episodes_with_an_image_are_independent_and_images_are_too() -> None:
    network = make()
    torch.manual_seed(1)
    together = network.recognise(images(2), episodes=3, sample=True)
    locations = torch.stack([glimpsed.look.location for glimpsed in together.glimpses], 2)
    assert len({tuple(path) for path in locations.flatten(2).flatten(0, 1).tolist()}) == 6
    # Each episode alone, led to the same places, ends with the same answer.
    for row in range(2):
        for episode in range(3):
            path = iter(locations[row, episode])
            network.policy.forward = lambda state, sample, path=path: CenterPolicy(state_size=6)(
                state, sample=sample
            )._replace(location=next(path).reshape(1, 1, 2))
            alone = network.recognise(images(2)[row : row + 1])
            torch.testing.assert_close(alone.logits[0, 0], together.logits[row, episode])


def test_without_samples_nothing_is_random() -> None:
    network = make()
    first, second = (network.recognise(images(), episodes=2).logits for _ in range(2))
    assert torch.equal(first, second)
    # rows of one product: some processors add up the last of them in another order
    torch.testing.assert_close(first[:, 0], first[:, 1])


def gradients(network: RecurrentAttentionModel, loss: Tensor) -> set[str]:
    """The parts that a loss shapes."""
    network.zero_grad()
    loss.backward()
    moved = {
        name for name, value in network.named_parameters() if value.grad is not None and value.grad.any()
    }
    return {name.partition(".")[0] for name in moved}


@pytest.mark.parametrize("recurrent", [Rectified, LSTM])
def test_labels_train_all_but_the_location_network_and_rewards_train_it_alone(
    recurrent: RecurrentLayer,
) -> None:
    """Section 3.2: supervised learning must not reach `f_l` through the location, nor REINFORCE leave it."""
    network = make(recurrent=recurrent)
    recognised = network.recognise(images(8), episodes=4, sample=True)
    answer = recognised.logits.log_softmax(-1)[..., 0].sum()
    assert gradients(network, answer) == {"glimpse_network", "core", "action"}
    recognised = network.recognise(images(8), episodes=4, sample=True)
    log_prob = sum(glimpsed.look.log_prob.sum() for glimpsed in recognised.glimpses)  # type: ignore[union-attr]
    assert gradients(network, log_prob) == {"policy"}
    for glimpsed in recognised.glimpses:
        assert not glimpsed.look.location.requires_grad


@pytest.mark.parametrize("policy", [RandomPolicy, CenterPolicy])
def test_controls_of_the_policy_have_no_parameters(policy: Callable[..., LocationPolicy]) -> None:
    network = make(policy=policy)
    assert not list(network.policy.parameters())
    recognised = network.recognise(images(50), sample=True)
    locations = torch.stack([glimpsed.look.location for glimpsed in recognised.glimpses])
    if policy is CenterPolicy:
        assert not locations.any()
    else:
        assert locations.std() == pytest.approx(3**-0.5, abs=0.05)
    assert all(glimpsed.look.log_prob is None for glimpsed in recognised.glimpses)


def test_a_core_with_a_tape_reads_what_it_knew_before() -> None:
    """An LSTMN in one pass over what the steps were fed."""
    network = make(recurrent=partial(LSTMN, attention={"score": Additive, "selection": Soft})).double()
    fed: list[Tensor] = []
    network.glimpse_network.register_forward_hook(lambda _module, _inputs, output: fed.append(output))
    recognised = network.recognise(images(2).double())
    known = torch.stack([glimpsed.hidden[:, 0] for glimpsed in recognised.glimpses], 1)
    torch.testing.assert_close(known, network.core(torch.stack(fed, 1)))


def test_the_agent_sees_what_the_world_shows_at_that_moment() -> None:
    """Its loop knows no image: what changes between two looks is seen by the second."""
    network, shown = make(policy=CenterPolicy), [images(2)]
    seen = []
    for glimpsed in network.episode(lambda: shown[-1], 3):
        seen.append(glimpsed)
        shown.append(shown[-1].flip(-1))  # the world moves on
    first, second, third = (glimpsed.glimpse for glimpsed in seen)
    torch.testing.assert_close(first.flip(-1), second)
    torch.testing.assert_close(first, third)
    assert not torch.equal(first, second)


def test_images_that_stand_still_are_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network, prepared = make(), []
    prepare = network.sensor.prepare
    monkeypatch.setattr(network.sensor, "prepare", lambda given: prepared.append(1) or prepare(given))
    network.recognise(images())
    assert len(prepared) == 1


@pytest.mark.parametrize(
    ("network", "parameters"),
    [
        (lambda: FullyConnected(spec=SPEC, hidden_size=7), 108 * 7 + 7 + 7 * 7 + 7 + 7 * 3 + 3),
        (
            lambda: Convolutional(spec=SPEC, filters=2, filter_size=4, stride=3, hidden_size=7),
            2 * 16 + 2 + (2 * 2 * 3) * 7 + 7 + 7 * 3 + 3,  # 2 x 3 places
        ),
    ],
    ids=["fully connected", "convolutional"],
)
def test_networks_that_see_whole_images(
    network: Callable[[], FullyConnected | Convolutional], parameters: int
) -> None:
    built = network()
    assert sum(weight.numel() for weight in built.parameters()) == parameters
    recognised = built.recognise(images(), episodes=4, sample=True)
    assert recognised.logits.shape == (2, 1, 3)
    assert recognised.glimpses == ()


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: make(glimpses=0), "glimpses must be at least 1, got 0"),
        (lambda: make(hidden_size=0), "hidden_size must be at least 1, got 0"),
        (lambda: make(glimpse_size=0), "glimpse_size must be at least 1, got 0"),
        (lambda: FullyConnected(spec=SPEC, hidden_size=0), "hidden_size must be at least 1, got 0"),
        (
            lambda: Convolutional(spec=SPEC, filters=2, filter_size=10, stride=3, hidden_size=7),
            "filter_size must fit into the image of 9 x 12, got 10",
        ),
        (
            lambda: FullyConnected(spec=DataSpec("dates"), hidden_size=4),
            "dates has no image 'image'; it has no fields",
        ),
    ],
)
def test_bad_arguments_are_refused(build: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        build()


class Deep(LearnedPolicy):
    """One of someone's own, whose graph keeps the state."""

    def __init__(self, *, state_size: int) -> None:
        super().__init__(state_size=state_size, std=0.2)
        self.deeper = torch.nn.Linear(state_size, state_size)

    def forward(self, state: Tensor, *, sample: bool) -> Look:
        return super().forward(state, sample=sample)

    def mean(self, state: Tensor) -> Tensor:
        return self.linear(self.deeper(state.detach()).relu()).tanh()


def watched(*, state_size: int) -> LocationPolicy:
    """One with a hook."""
    policy = LEARNED(state_size=state_size)
    policy.register_forward_hook(lambda *given: None)
    return policy


class Sensing(GlimpseSensor):
    """A sensor that could learn."""

    def forward(self, memory: ImageMemory, locations: Tensor) -> Tensor:
        return super().forward(memory, locations)


@pytest.mark.parametrize("policy", [LEARNED, RandomPolicy, CenterPolicy, Deep, watched])
def test_an_episode_learned_at_once_is_that_of_the_steps(
    policy: Callable[..., LocationPolicy], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for at_once in (False, True):
        network = make(policy=policy).double()
        assert network._can_fuse(images())
        monkeypatch.setattr(network, "_can_fuse", lambda images, at_once=at_once: at_once)
        torch.manual_seed(3)
        recognised = network.recognise(images(4).double(), episodes=3, sample=True)
        glimpses = recognised.glimpses
        loss = recognised.logits.square().sum()
        for number, glimpsed in enumerate(glimpses):
            loss = loss + glimpsed.hidden.square().sum()
            if glimpsed.look.log_prob is not None:
                loss = loss + (number + 1) * glimpsed.look.log_prob.sum()
        loss.backward()
        seen = [(glimpsed.look.location, glimpsed.known, glimpsed.hidden) for glimpsed in glimpses]
        gradients = [weight.grad for weight in network.parameters()]
        found.append([recognised.logits, *(part for parts in seen for part in parts), *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-12, atol=1e-12)


class Sampling(torch.nn.Module):
    """A network whose call samples an episode."""

    def __init__(self, network: RecurrentAttentionModel) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        return self.network.recognise(images, sample=True).logits


def test_gradients_by_torch_func_are_those_of_autograd() -> None:
    """It cannot follow an episode that is learned at once, so it is taken step by step."""
    network, batch = make().double().train(), images().double()

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        torch.manual_seed(0)
        logits: Tensor = torch.func.functional_call(Sampling(network), parameters, (batch,))
        return logits.square().sum()

    parameters = dict(Sampling(network).named_parameters())
    expected = torch.autograd.grad(loss(parameters), [*parameters.values()], allow_unused=True)
    found = torch.func.grad(loss)({name: value.detach() for name, value in parameters.items()})
    for name, one in zip(parameters, expected, strict=True):
        torch.testing.assert_close(found[name], torch.zeros_like(found[name]) if one is None else one)


def test_overridden_and_hooked_steps_run_in_training() -> None:
    class Counting(RecurrentAttentionModel):
        steps = 0

        def step(self, memory: ImageMemory, state: State, *, sample: bool) -> tuple[Glimpsed, State]:
            Counting.steps += 1
            return super().step(memory, state, sample=sample)

    network = make()
    network.__class__ = Counting
    network.recognise(images(), sample=True)
    assert Counting.steps == 3
    assert make()._can_fuse(images())
    assert not make(recurrent=LSTM)._can_fuse(images())
    assert not make()._can_fuse(images().requires_grad_())
    hooked, dropping, replaced = make(), make(), make()
    hooked.glimpse_network.register_forward_hook(lambda *given: None)
    dropping.glimpse_network.what = torch.nn.Sequential(dropping.glimpse_network.what, torch.nn.Dropout())
    replaced.core.step = lambda given, state: state
    behind, instead, sensing = make(), make(), make()
    behind.glimpse_network.what.register_full_backward_hook(lambda *given: None)
    instead.glimpse_network.forward = lambda glimpse, location: location
    sensing.sensor = Sensing(size=4)
    for changed in (hooked, dropping, replaced, behind, instead, sensing):
        assert not changed._can_fuse(images())
    with torch.autocast("cpu", torch.bfloat16):
        assert not make()._can_fuse(images())


def test_gradients_of_an_episode_may_be_changed_in_place() -> None:
    given = [make() for _ in range(2)]
    for parameter in given[1].parameters():
        parameter.register_hook(lambda gradient: gradient.mul_(2))
    for network in given:
        network.recognise(images()).logits.sum().backward()
    for once, twice in zip(*(network.parameters() for network in given), strict=True):
        if once.grad is not None:
            torch.testing.assert_close(2 * once.grad, twice.grad)
