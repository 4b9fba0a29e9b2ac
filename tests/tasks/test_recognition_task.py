"""Recognition: the hybrid loss, its terms, and the three errors."""

import logging
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from quiet import quiet_trainer
from torch import Tensor, nn

from data.images.canvas import Translated
from data.images.digits import Digits
from data.images.images import ImageData
from zoo.attention import CenterPolicy, LearnedBaseline, LearnedPolicy, Look, RandomPolicy
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.kernels.noise import keyed
from zoo.networks.image_classifiers import FullyConnected
from zoo.networks.ram import Glimpsed, Recognised, RecurrentAttentionModel
from zoo.networks.recurrent import Rectified
from zoo.tasks.policy_gradient import CollapseAlarm, saturated
from zoo.tasks.recognition.batch import ImageBatch
from zoo.tasks.recognition.task import RecognitionTask

SPEC = DataSpec("x", {"image": ImageSpec(1, 8, 8), "label": LabelSpec(("a", "b", "c"))})


def make_task(network: nn.Module | None = None, spec: DataSpec = SPEC, **changes: Any) -> RecognitionTask:
    torch.manual_seed(0)
    settings = {
        "optimizer": partial(torch.optim.Adam, lr=5e-3),
        "scheduler": None,
        "episodes": 2,
        "reinforce": {"baseline": LearnedBaseline, "weight": 0.5, "discount": 1.0},
        "monitor": "val/error",
    }
    return RecognitionTask(network=network or ram(spec), spec=spec, **{**settings, **changes})


def ram(spec: DataSpec = SPEC, glimpses: int = 3, policy: Any = None) -> RecurrentAttentionModel:
    torch.manual_seed(0)
    return RecurrentAttentionModel(
        spec=spec,
        policy=policy or partial(LearnedPolicy, std=0.3),
        recurrent=Rectified,
        glimpses=glimpses,
        glimpse_size=4,
        scales=2,
        glimpse_hidden_size=16,
        hidden_size=32,
    )


def batch(count: int = 6) -> ImageBatch:
    torch.manual_seed(3)
    labels = torch.arange(count) % 3
    names = [f"val/{number}" for number in range(count)]
    return ImageBatch(torch.arange(count), torch.rand(count, 1, 8, 8), labels, names)


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_the_hybrid_loss_against_its_closed_form(discount: float) -> None:
    """Sums over glimpses, means over images and episodes (section 3.2)."""
    task = make_task(reinforce={"baseline": LearnedBaseline, "weight": 0.5, "discount": discount})
    assert task.reinforce is not None
    given = batch()
    loss = task.training_step(given, 0)
    with keyed(given.index, task._seed, 0):
        recognised = task.network.recognise(given.images, episodes=2, sample=True)
    cross_entropy = reinforce = mse = rewards = 0.0
    for image in range(6):
        for episode in range(2):
            logits = recognised.logits[image, episode]
            cross_entropy -= logits.log_softmax(-1)[given.labels[image]].item() / 12
            right = float(logits.argmax() == given.labels[image])
            for step, glimpsed in enumerate(recognised.glimpses):
                reward = right * discount ** (2 - step)
                expected = task.reinforce.baseline.linear(glimpsed.known[image, episode]).item()  # type: ignore[operator, union-attr]
                reinforce -= glimpsed.look.log_prob[image, episode].item() * (reward - expected) / 12  # type: ignore[index]
                mse += (reward - expected) ** 2 / 12
                rewards += reward / 36
    assert float(task.terms["cross_entropy"]) == pytest.approx(cross_entropy, rel=1e-4)
    assert float(task.terms["reinforce"]) == pytest.approx(reinforce, rel=1e-4)
    assert float(task.terms["baseline_mse"]) == pytest.approx(mse, rel=1e-4)
    assert float(task.terms["reward"]) == pytest.approx(rewards, rel=1e-4)
    assert loss.item() == pytest.approx(cross_entropy + 0.5 * (reinforce + mse), rel=1e-4)
    assert float(task.terms["loss"]) == pytest.approx(loss.item())
    entropy = 3 * 2 * 0.5 * math.log(2 * math.pi * math.e * 0.3**2)
    assert float(task.terms["entropy"]) == pytest.approx(entropy, rel=1e-4)
    assert {"advantage_std", "explained_variance", "saturation"} <= task.terms.keys()


def moved(task: RecognitionTask, loss: Tensor) -> set[str]:
    task.zero_grad()
    loss.backward(retain_graph=True)
    names = {name for name, value in task.named_parameters() if value.grad is not None and value.grad.any()}
    return {".".join(name.split(".")[:2]) for name in names}


def test_every_term_shapes_its_own_part_and_no_other() -> None:
    """The baseline watches the state and does not shape it; rewards reach the location network alone."""
    task, given = make_task(), batch(30)
    assert task.reinforce is not None
    seen: dict[str, Any] = {}
    inner = task.reinforce.forward
    task.reinforce.forward = lambda **given: seen.update(terms=inner(**given)) or seen["terms"]  # type: ignore[method-assign]
    _, terms = task.loss_of(given)
    assert 0 < terms["reward"] < 1
    assert moved(task, seen["terms"].reinforce) == {"network.policy"}
    assert moved(task, seen["terms"].baseline_mse) == {"reinforce.baseline"}
    assert moved(task, terms["cross_entropy"]) == {
        "network.glimpse_network",
        "network.core",
        "network.action",
    }


class Scripted(nn.Module):
    """Answers `a` at the most likely places; of sampled episodes every second one says `b`, very surely."""

    hidden_size = 4

    def __init__(self) -> None:
        super().__init__()
        self.policy = RandomPolicy(state_size=4)

    def recognise(self, images: Tensor, *, episodes: int = 1, sample: bool = False) -> Recognised:
        logits = torch.tensor([2.0, 0.0, 0.0]).repeat(len(images), episodes, 1)
        if sample:
            logits[:, ::2] = torch.tensor([0.0, 9.0, 0.0])
        location = torch.full((len(images), episodes, 2), 0.97)
        look = Look(location, location)
        nothing = torch.zeros(len(images), episodes, 4)
        return Recognised(logits, (Glimpsed(look, location[..., None, None, None, None], nothing, nothing),))


def test_the_three_errors_are_separate() -> None:
    task = make_task(Scripted())
    task.scores["test"], task.predictions["test"] = task.new_scores("test"), []
    task._evaluate("test", batch(6))
    values = {name: float(value) for name, value in task.scores["test"].finish().items()}  # type: ignore[operator]
    assert values["error"] == pytest.approx(2 / 3)  # says a: right for two of six
    assert values["error_1_sample"] == pytest.approx(2 / 3)  # says b
    assert values["error_10_samples"] == pytest.approx(2 / 3)  # says b: the surer half decides
    assert values["loss"] == pytest.approx(
        float(F.cross_entropy(torch.tensor([[2.0, 0.0, 0.0]] * 3), torch.arange(3))), rel=1e-5
    )
    assert values["saturation"] == 1.0
    found = task.predictions["test"]
    assert [item["prediction"] for item in found] == ["a"] * 6
    assert [item["references"] for item in found] == [["a"], ["b"], ["c"]] * 2
    assert found[4]["input"] == "val/4"
    assert found[0]["locations"] == [[pytest.approx(0.97), pytest.approx(0.97)]]
    # A batch whose labels are all b is all wrong at the most likely places, all right with samples.
    task._evaluate("test", batch(6)._replace(labels=torch.ones(6, dtype=torch.int64)))
    again = {name: float(value) for name, value in task.scores["test"].finish().items()}  # type: ignore[operator]
    assert (again["error"], again["error_1_sample"], again["error_10_samples"]) == (1, 0, 0)
    assert task.new_scores("val").samples == (1,), "ten would be most of a validation's work"


def test_a_policy_that_cannot_choose_has_one_episode() -> None:
    """All would be the same: so are its errors, and the gradient."""
    task = make_task(ram(policy=CenterPolicy), episodes=4)
    given = batch()
    wanted = []

    def recognise(images: Tensor, *, episodes: int = 1, sample: bool = False) -> Recognised:
        wanted.append(episodes)
        return RecurrentAttentionModel.recognise(task.network, images, episodes=episodes, sample=sample)  # type: ignore[arg-type]

    task.network.recognise = recognise  # type: ignore[method-assign]
    loss = task.training_step(given, 0)
    task.scores["test"], task.predictions["test"] = task.new_scores("test"), []
    task._evaluate("test", given)
    assert wanted == [1, 1]
    values = task.scores["test"].finish()
    assert values["error"] == values["error_1_sample"] == values["error_10_samples"]
    four = RecurrentAttentionModel.recognise(task.network, given.images, episodes=4, sample=True)  # type: ignore[arg-type]
    expected = F.cross_entropy(four.logits.flatten(0, 1), given.labels.repeat_interleave(4))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_ten_samples_are_averaged_as_probabilities() -> None:
    """Neither as logits, by which `a` would win, nor by votes, of which `c` has the most."""
    task = make_task(Scripted())
    logits = torch.tensor([[0.45, 1e-6, 0.55]] * 6 + [[0.01, 0.99, 1e-6]] * 4).log()
    assert int(logits.mean(0).argmax()) == 0
    assert int(logits.argmax(-1).mode().values) == 2

    def recognise(images: Tensor, *, episodes: int = 1, sample: bool = False) -> Recognised:
        recognised = Scripted().recognise(images, episodes=episodes)
        return recognised._replace(logits=logits[:episodes].repeat(len(images), 1, 1))

    task.network.recognise = recognise  # type: ignore[method-assign, assignment]
    task.scores["test"], task.predictions["test"] = task.new_scores("test"), []
    task._evaluate("test", batch(6)._replace(labels=torch.ones(6, dtype=torch.int64)))
    assert float(task.scores["test"].finish()["error_10_samples"]) == 0  # type: ignore[operator]


def test_a_network_that_sees_whole_images_has_one_error() -> None:
    task = make_task(FullyConnected(spec=SPEC, hidden_size=8))
    assert task.reinforce is None
    task.scores["val"], task.predictions["val"] = task.new_scores("val"), []
    task._evaluate("val", batch())
    assert set(task.scores["val"].finish()) == {"error", "loss"}  # type: ignore[operator]
    assert "locations" not in task.predictions["val"][0]
    with pytest.raises(ValueError, match="no glimpses"):
        task.paths(batch().images)


def test_control_policies_learn_by_labels_alone() -> None:
    task = make_task(ram(policy=CenterPolicy))
    assert task.reinforce is None
    task.training_step(batch(), 0)
    assert set(task.terms) == {"loss", "cross_entropy"}


def test_the_alarm_of_a_collapsed_policy(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecognitionTask, "current_epoch", 4)
    task = make_task()
    for bias, warned in ((0.0, False), (9.0, True)):
        with torch.no_grad():
            task.policy.linear.bias.fill_(bias)  # type: ignore[union-attr]
        with caplog.at_level(logging.WARNING):
            task.training_step(batch(), 0)
            task.on_train_epoch_end()
        assert ("epoch 4: the policy has collapsed: 100 %" in caplog.text) is warned


@pytest.mark.parametrize(("shares", "warned"), [((0.8, 0.98), False), ((0.84, 0.98), True), ((), False)])
def test_the_alarm_is_raised_beyond_nine_tenths_of_an_epoch(
    caplog: pytest.LogCaptureFixture, shares: tuple[float, ...], warned: bool
) -> None:
    alarm = CollapseAlarm()
    for share in shares:
        alarm.add(torch.tensor(share))
    alarm.end_epoch(2)
    assert bool(caplog.text) is ("91 % of its mean locations" in caplog.text) is warned
    caplog.clear()
    alarm.end_epoch(3)
    assert caplog.text == "", "an epoch begins anew"


def test_the_alarm_is_raised_once_for_a_collapse(caplog: pytest.LogCaptureFixture) -> None:
    alarm = CollapseAlarm()
    for epoch, share in enumerate((1.0, 1.0, 0.5, 1.0)):
        alarm.add(torch.tensor(share))
        alarm.end_epoch(epoch)
    assert [record.args[0] for record in caplog.records] == [0, 3]  # type: ignore[index]


def test_a_place_is_saturated_when_either_coordinate_is() -> None:
    assert saturated(torch.tensor([[0.96, 0.0], [0.0, -0.99], [0.9, 0.9], [0.0, 0.0]])) == 0.5


def test_paths_are_what_the_agent_did() -> None:
    task, given = make_task(), batch()
    paths = task.paths(given.images, given.labels)
    with torch.no_grad():
        recognised = task.network.recognise(given.images)
    for row, path in enumerate(paths):
        assert torch.equal(path.image, given.images[row])
        assert path.label == ("a", "b", "c")[row % 3]
        probabilities = recognised.logits[row, 0].softmax(-1)
        assert path.probability == pytest.approx(float(probabilities.max()))
        assert path.prediction == ("a", "b", "c")[int(probabilities.argmax())]
        for step, glimpsed in enumerate(recognised.glimpses):
            assert torch.equal(path.locations[step], glimpsed.look.location[row, 0])
            assert torch.equal(path.glimpses[step], glimpsed.glimpse[row, 0])
    assert task.paths(given.images)[0].label is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        (
            {"reinforce": {"baseline": LearnedBaseline, "weight": 0.0, "discount": 1.0}},
            "weight must be above 0",
        ),
        (
            {"reinforce": {"baseline": LearnedBaseline, "weight": 1.0, "discount": 1.5}},
            "discount must be from 0",
        ),
    ],
)
def test_bad_arguments_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make_task(**changes)


def test_glimpses_and_recognition_are_learned(tmp_path: Path) -> None:
    """Digits as they are, in a minute's thousandth part of the paper's training: far better than chance."""
    data = ImageData(images=Digits(), canvas=None, batch_size=64, seed=1)
    data.setup()
    task = make_task(ram(data.spec, glimpses=3), data.spec, episodes=4)
    quiet_trainer(tmp_path, max_epochs=12, check_val_every_n_epoch=12).fit(task, datamodule=data)
    assert float(task.trainer.callback_metrics["val/error"]) < 0.25


def test_predictions_of_a_split_stand_in_order(tmp_path: Path) -> None:
    data = ImageData(images=Digits(), canvas=Translated(size=12), batch_size=50, seed=1)
    data.setup()
    task = make_task(ram(data.spec), data.spec)
    trainer = quiet_trainer(tmp_path)
    trainer.test(task, datamodule=data, verbose=False)
    found = task.predictions["test"]
    assert [item["id"] for item in found] == list(range(len(found)))
    labels = data.batch("test", range(len(found))).labels.tolist()
    assert [item["references"] for item in found] == [[data.spec.label().classes[label]] for label in labels]
