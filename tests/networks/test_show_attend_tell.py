"""Show, Attend and Tell: the paper's equations, and what holds for every decoder over a grid."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.attention import (
    Additive,
    Dot,
    General,
    Hard,
    LocalMonotonic,
    LocalPredictive,
    Location,
    ScaledDot,
    Soft,
    Sparsemax,
    Static,
    Uniform,
)
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, ImageSpec, TextSpec
from zoo.decoding import Beam, Greedy
from zoo.decoding.tree import map_tensors
from zoo.networks.encoders import Compact, Residual
from zoo.networks.positions import Learned, RotaryPositions, Sinusoidal
from zoo.networks.show_attend_tell import AttentiveDecoder, GridTransformer, MeanDecoder, ShowAttendTell

TEXT = TextSpec(tokenizer="", size=13, maximum_length=20)
SPEC = DataSpec("toy", {"image": ImageSpec(3, 12, 16), "target": TEXT})
COMPACT = partial(Compact, widths=[8], feature_size=8)


def reads(score: object = Additive, selection: object = Soft) -> dict[str, Any]:
    return {"attention": {"score": score, "selection": selection}}


TRANSFORMER = partial(
    GridTransformer,
    positions=Sinusoidal,
    layers=2,
    heads=2,
    feed_forward_size=12,
    attention_dropout=0.0,
    activation_dropout=0.0,
    activation=nn.ReLU,
)
DECODERS: dict[str, Callable[..., Any]] = {
    "soft": partial(AttentiveDecoder, **reads()),
    "dot": partial(AttentiveDecoder, **reads(Dot)),
    "general": partial(AttentiveDecoder, **reads(General)),
    "location": partial(AttentiveDecoder, **reads(Location)),
    "uniform": partial(AttentiveDecoder, **reads(Uniform)),
    "hard": partial(AttentiveDecoder, **reads(selection=Hard)),
    "local-m": partial(AttentiveDecoder, **reads(General, partial(LocalMonotonic, window=1))),
    "local-p": partial(AttentiveDecoder, **reads(General, partial(LocalPredictive, window=2))),
    "sparsemax": partial(AttentiveDecoder, **reads(selection=Sparsemax)),
    "static": partial(AttentiveDecoder, **reads(selection=Static)),
    "none": MeanDecoder,
    "transformer": partial(TRANSFORMER, **reads(ScaledDot)),
    "transformer-rotary": partial(TRANSFORMER, **reads(Additive), positions=RotaryPositions, pre_norm=True),
    "transformer-static": partial(TRANSFORMER, **reads(Dot, Static)),
    "transformer-location": partial(TRANSFORMER, **reads(Location)),
    "transformer-hard": partial(
        TRANSFORMER, **reads(Dot, Hard), positions=partial(Learned, maximum_length=20)
    ),
}
every_decoder = pytest.mark.parametrize("name", DECODERS)


def build(name: str = "soft", encoder: Callable[..., Any] = COMPACT, **changes: Any) -> ShowAttendTell:
    torch.manual_seed(0)
    settings = {"decoder": DECODERS[name], "embedding_size": 8, "hidden_size": 8, "dropout": 0.0}
    return ShowAttendTell(spec=SPEC, encoder=encoder, **(settings | changes))


def padded(*rows: list[int]) -> Padded:
    size = max(map(len, rows))
    ids = torch.tensor([row + [0] * (size - len(row)) for row in rows])
    return Padded(ids, torch.tensor([len(row) for row in rows]))


INPUTS = padded([2, 5, 6, 7], [2, 8, 9, 10, 11, 12], [2, 4])
IMAGES = torch.rand(3, 3, 12, 16, generator=torch.Generator().manual_seed(1)).double()


def grid(network: ShowAttendTell) -> Tensor:
    return network.annotate(IMAGES.to(network.output.weight.dtype))


def test_the_equations_of_the_paper() -> None:
    """One caption by hand, in float64, place by place, from the text of sections 3.1.2 and 4.2."""
    sizes = {"embedding_size": 5, "hidden_size": 6}
    network = build(encoder=partial(Compact, widths=[8], feature_size=16), **sizes).double().eval()
    for parameter in network.decoder.parameters():
        nn.init.normal_(parameter)  # far from where everything is nearly linear
    annotations = grid(network)[0]  # (16, 3, 4)
    a = [annotations[:, row, column] for row in range(3) for column in range(4)]
    weights = {name: value.detach() for name, value in network.named_parameters()}

    def affine(name: str, value: Tensor) -> Tensor:
        return weights[f"{name}.weight"] @ value + weights.get(f"{name}.bias", torch.zeros(()).double())

    score = "decoder.attention.score"
    names = [name for name in weights if name.startswith(score)]
    assert len(names) == 3, names
    of_query, of_key, v = (
        next(weights[name] for name in names if name.startswith(f"{score}.{part}.")) for part in "WUv"
    )
    mean = sum(a) / 12
    h, c = affine("decoder.f_init_h", mean).tanh(), affine("decoder.f_init_c", mean).tanh()
    decoded = network(IMAGES[:1], Padded(INPUTS.ids[:1], INPUTS.lengths[:1]))
    for t, y in enumerate([2, 5, 6, 7]):
        word = weights["E.weight"][y]
        torch.testing.assert_close(decoded.queries[0, t], h)
        e = torch.stack([(v.flatten() @ (of_query @ h + of_key @ a_i).tanh()) for a_i in a])
        alpha = e.exp() / e.exp().sum()
        torch.testing.assert_close(decoded.weights[0, t], alpha)
        beta = 1 / (1 + torch.exp(-affine("decoder.f_beta", h)))
        z = beta * sum(alpha[i] * a[i] for i in range(12))
        gates = affine("decoder.T_y", word) + weights["decoder.T_hz.weight"] @ torch.cat([h, z])
        i, f, o, g = (part.sigmoid() if gate < 3 else part.tanh() for gate, part in enumerate(gates.split(6)))
        c = f * c + i * g
        h = o * c.tanh()
        features = word + affine("decoder.L_h", h) + affine("decoder.L_z", z)
        torch.testing.assert_close(decoded.features[0, t], features)
        torch.testing.assert_close(network.logits(decoded.features)[0, t], affine("output", features))


def test_soft_features_of_one_word_behind_samples() -> None:
    """By hand, in float64: each word alone reads softly, from the state that the samples before it led to."""
    network = build("hard").double()
    for parameter in network.decoder.parameters():
        nn.init.normal_(parameter)
    memory = network.encode(grid(network))
    decoded = network.decode(memory, INPUTS)
    assert decoded.soft_features is not None
    assert decoded.probabilities is not None
    soft, decoder, a = decoded.soft_features(), network.decoder, memory.memory.values
    assert not soft.requires_grad

    def advance(word: Tensor, h: Tensor, c: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = decoder.f_beta(h).sigmoid() * torch.einsum("bl,bld->bd", alpha, a)
        i, f, o, g = (decoder.T_y(word) + decoder.T_hz(torch.cat([h, z], 1))).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h, c, word + decoder.L_h(h) + decoder.L_z(z)

    h, c = decoder.f_init_h(a.mean(1)).tanh(), decoder.f_init_c(a.mean(1)).tanh()
    for t in range(INPUTS.ids.shape[1]):
        word = network.E(INPUTS.ids[:, t])
        torch.testing.assert_close(soft[:, t], advance(word, h, c, decoded.probabilities[:, t])[2])
        h, c, features = advance(word, h, c, decoded.weights[:, t])
        torch.testing.assert_close(decoded.features[:, t], features)
        assert not torch.allclose(features, soft[:, t])


@pytest.mark.parametrize("dropping", [True, False])
def test_soft_features_of_soft_readings_are_the_features(dropping: bool) -> None:
    """With the same dropout, also where the decoder's dropout is in evaluation mode."""
    network = build("hard", dropout=0.5).double()
    network.decoder.attention.selection.soft_share = 0.5  # type: ignore[union-attr]
    network.decoder.dropout.train(dropping)  # type: ignore[union-attr]
    decoded = network.decode(network.encode(grid(network)), INPUTS)
    assert decoded.soft_features is not None
    assert decoded.log_prob is not None
    soft = decoded.log_prob == 0
    assert 0 < soft.sum() < soft.numel()
    again = decoded.soft_features()
    torch.testing.assert_close(again[soft], decoded.features[soft])
    assert not torch.allclose(again[~soft], decoded.features[~soft])


@every_decoder
def test_only_sampled_readings_have_soft_features(name: str) -> None:
    network = build(name).train()
    decoded = network.decode(network.encode(grid(network)), INPUTS)
    assert (decoded.soft_features is not None) == (name == "hard")


@every_decoder
def test_steps_equal_the_teacher_forced_pass_at_every_prefix(name: str) -> None:
    network = build(name).double().eval()
    memory = network.encode(grid(network))
    decoded = network.decode(memory, INPUTS)
    expected = network.logits(decoded.features).log_softmax(-1)
    state = network.init_state(memory)
    for position in range(INPUTS.ids.shape[1]):
        step = network.step(INPUTS.ids[:, position : position + 1], state, memory)
        state = step.state
        torch.testing.assert_close(step.log_probs[:, 0], expected[:, position].float())
        assert (decoded.weights is None) == (step.weights is None) == (name == "none")
        if decoded.weights is not None:
            torch.testing.assert_close(step.weights[:, 0], decoded.weights[:, position])
            assert decoded.weights.shape == (3, 6, 12)


@every_decoder
def test_batch_and_padding_change_nothing(name: str) -> None:
    network = build(name).double().eval()
    together = network(IMAGES, INPUTS).features
    for row in range(3):
        length = int(INPUTS.lengths[row])
        inputs = Padded(INPUTS.ids[row : row + 1, :length], INPUTS.lengths[row : row + 1])
        alone = network(IMAGES[row : row + 1], inputs).features
        torch.testing.assert_close(together[row, :length], alone[0])


@every_decoder
def test_the_future_does_not_leak_and_every_parameter_learns(name: str) -> None:
    network = build(name).double().eval()
    for part in network.modules():
        if isinstance(part, Residual):  # begins as nothing: only its last layer would learn
            torch.nn.init.ones_(part.layers[-1].weight)  # type: ignore[arg-type]
    changed = Padded(INPUTS.ids.clone(), INPUTS.lengths)
    changed.ids[:, 2:] = 7
    before, after = network(IMAGES, INPUTS).features, network(IMAGES, changed).features
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.equal(before[:, 2:], after[:, 2:])
    decoded = network.train()(IMAGES, INPUTS)
    assert (decoded.log_prob is not None) == ("hard" in name)
    assert (decoded.probabilities is not None) == ("hard" in name)
    loss = network.logits(decoded.features).log_softmax(-1)[..., 5].sum()
    (loss if decoded.log_prob is None else loss + decoded.log_prob.sum()).backward()
    assert not [
        key for key, value in network.named_parameters() if value.grad is None or not value.grad.any()
    ]


@every_decoder
def test_hypotheses_are_independent_queries(name: str) -> None:
    """W hypotheses in one step equal W steps of one."""
    network = build(name).double().eval()
    memory = network.encode(grid(network))
    first = network.step(torch.full((3, 1), 2), network.init_state(memory), memory)
    wide = map_tensors(lambda value: value.expand(-1, 4, *value.shape[2:]), first.state)
    tokens = torch.tensor([[4, 5, 6, 7]]).expand(3, -1)
    together = network.step(tokens, wide, memory).log_probs
    for number in range(4):
        alone = network.step(tokens[:, number : number + 1], first.state, memory).log_probs
        torch.testing.assert_close(together[:, number : number + 1], alone)


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3, length_penalty=1.0)])
@every_decoder
def test_searches_find_the_same_in_any_batch(name: str, search: Callable[..., Any]) -> None:
    network = build(name).double().eval()
    limits = torch.full((3,), 7)

    def found(rows: slice) -> Any:
        memory = network.encode(network.annotate(IMAGES[rows]))
        state = network.init_state(memory)
        given = {"bos": 2, "eos": 3, "forbidden": (0, 1, 2), "maximum_length": limits[rows]}
        return [best.ids for (best, *_) in search(network.step, state, memory, **given)]

    together = found(slice(3))
    assert together == [ids for row in range(3) for ids in found(slice(row, row + 1))]


@pytest.mark.parametrize("name", ["soft", "transformer"])
def test_overfits_one_batch(name: str) -> None:
    network = build(name, embedding_size=32, hidden_size=32).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    labels = padded([5, 6, 7, 3], [8, 9, 10, 11, 12, 3], [4, 3])
    for _ in range(80):
        logits = network.logits(network(IMAGES.float(), INPUTS).features)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.ids.flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.05:
            return
    pytest.fail(f"the loss is {loss.item()} after 80 steps")


def test_annotations_are_projected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build().eval()
    calls = []
    score = network.decoder.attention.score
    project = score.project_keys
    monkeypatch.setattr(score, "project_keys", lambda keys: calls.append(1) or project(keys))
    network(IMAGES.float(), INPUTS)
    assert len(calls) == 1


def test_what_needs_no_state_is_done_for_all_words_at_once() -> None:
    network, calls = build().eval(), []
    for name in ("T_y", "L_h", "L_z"):
        layer = getattr(network.decoder, name)
        layer.register_forward_hook(lambda *_, name=name: calls.append(name))
    network(IMAGES.float(), INPUTS)
    assert {name: calls.count(name) for name in calls} == {"T_y": 1, "L_h": 1, "L_z": 1}


def test_features_in_half_precision_and_no_gradient_into_what_is_stored() -> None:
    network = build()
    stored = grid(network).detach().half()
    decoded = network.decode(network.encode(stored), INPUTS)
    assert decoded.features.dtype == torch.float32
    exact = network.decode(network.encode(grid(network)), INPUTS)
    torch.testing.assert_close(decoded.features, exact.features, atol=0.01, rtol=0)


def test_dropout_acts_in_training_alone() -> None:
    network = build(dropout=0.5)
    first, second = (network.train()(IMAGES.float(), INPUTS).features for _ in range(2))
    assert not torch.equal(first, second)
    first, second = (network.eval()(IMAGES.float(), INPUTS).features for _ in range(2))
    assert torch.equal(first, second)


@every_decoder
def test_a_saved_network_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    first = build(name).eval()
    torch.save(first.state_dict(), tmp_path / "weights.pt")
    second = build(name)
    for parameter in second.parameters():
        nn.init.normal_(parameter)
    second.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    images = IMAGES.float()
    assert torch.equal(first(images, INPUTS).features, second.eval()(images, INPUTS).features)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: build(hidden_size=0), "hidden_size must be at least 1, got 0"),
        (lambda: build(dropout=1.0), "dropout must be at least 0 and below 1, got 1.0"),
        (
            lambda: build(decoder=partial(AttentiveDecoder, **reads(partial(Location, maximum_length=11)))),
            "Location: maximum_length=11 is less than the 12 positions that the model reads; leave it out",
        ),
        (lambda: build("dot", hidden_size=6), "query_size=6 and key_size=8"),
        (
            lambda: build("transformer", hidden_size=6),
            "embedding_size must equal hidden_size, .* 8 and 6",
        ),
        (
            lambda: ShowAttendTell(
                spec=DataSpec("dates", {"image": ImageSpec(3, 12, 16)}),
                encoder=COMPACT,
                decoder=MeanDecoder,
                embedding_size=4,
                hidden_size=4,
                dropout=0.0,
            ),
            r"dates has no text 'target'; it has image \(image\)",
        ),
    ],
)
def test_bad_arguments_are_refused(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make()
