"""Tracking: what each reward shapes, its terms, and a small game that is learned."""

import logging
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn

from data.core.batching import Part
from data.games.catch import CatchData
from zoo.attention import CenterPolicy, LearnedBaseline, LearnedPolicy, Look, RandomPolicy
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec
from zoo.kernels.noise import keyed
from zoo.networks.image_classifiers import FullyConnected
from zoo.networks.ram import Glimpsed, RecurrentAttentionModel
from zoo.networks.recurrent import LSTM
from zoo.tasks.tracking.batch import CATCH_ACTIONS, CatchBatch, CatchRules
from zoo.tasks.tracking.catch import Catch
from zoo.tasks.tracking.task import TrackingTask

SPEC = DataSpec("catch", {"image": ImageSpec(1, 8, 8), "label": LabelSpec(CATCH_ACTIONS)})
REINFORCE = {"baseline": LearnedBaseline, "weight": 0.5, "discount": 0.8}


def ram(policy: Any = None, **changes: int) -> RecurrentAttentionModel:
    torch.manual_seed(0)
    sizes = {"glimpses": 1, "glimpse_size": 4, "scales": 2, "glimpse_hidden_size": 16, "hidden_size": 32}
    policy = policy or partial(LearnedPolicy, std=0.3)
    return RecurrentAttentionModel(spec=SPEC, policy=policy, recurrent=LSTM, **{**sizes, **changes})


def make_task(network: nn.Module | None = None, **changes: Any) -> TrackingTask:
    settings = {
        "optimizer": partial(torch.optim.Adam, lr=5e-3),
        "scheduler": None,
        "reinforce": REINFORCE,
        "entropy_weight": 0.1,
        "monitor": "val/catch_rate",
    }
    network = network or ram()
    torch.manual_seed(0)
    return TrackingTask(network=network, spec=SPEC, **{**settings, **changes})


def games(count: int = 30, balls: int = 2) -> CatchBatch:
    generator = torch.Generator().manual_seed(3)

    def draw(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high + 1, (count, *shape), generator=generator)

    names = [f"val {number}" for number in range(count)]
    rules = CatchRules(8, 1)
    return CatchBatch(torch.arange(count), draw(0, 6), draw(0, 7, balls), draw(-1, 1, balls), names, rules)


def moved(task: TrackingTask, loss: Tensor) -> set[str]:
    task.zero_grad()
    loss.backward(retain_graph=True)
    names = {name for name, value in task.named_parameters() if value.grad is not None and value.grad.any()}
    return {".".join(name.split(".")[:2]) for name in names}


def test_every_term_shapes_its_own_part_and_no_other() -> None:
    """Rewards of actions reach all but the locations, rewards of locations these alone."""
    task = make_task()
    _, terms = task.loss(task.play(games(), sample=True))
    acting = {"network.glimpse_network", "network.core", "network.action"}
    assert moved(task, terms["reinforce_actions"]) == acting
    assert moved(task, terms["entropy_actions"]) == acting
    assert moved(task, terms["reinforce"]) == {"network.policy"}
    assert moved(task, terms["baseline_mse_actions"]) == {"reinforce_actions.baseline"}
    assert moved(task, terms["baseline_mse"]) == {"reinforce.baseline"}


@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_the_loss_against_its_closed_form(discount: float) -> None:
    """Sums over steps, means over games; a choice is paid for what comes after it."""
    task = make_task(reinforce={**REINFORCE, "discount": discount})
    batch = games(6)
    loss = task.training_step(batch, 0)
    with keyed(batch.index, task._seed, 0):
        played = task.play(batch, sample=True)
    steps = len(played.rewards)
    assert steps == 14
    assert 0 < played.caught.sum() < 12
    reinforce, mse, entropy, rewards = [0.0, 0.0], [0.0, 0.0], 0.0, 0.0
    for game in range(6):
        to_go = 0.0
        for step in reversed(range(steps)):
            to_go = float(played.rewards[step][game]) + discount * to_go
            rewards += to_go / 6 / steps
            glimpsed = played.glimpses[step]
            log_probs = task.network.action(glimpsed.hidden[game, 0]).log_softmax(-1)
            entropy -= float((log_probs.exp() * log_probs).sum()) / 6
            of_location = float(glimpsed.look.log_prob[game, 0])  # type: ignore[index]
            of_action = float(log_probs[played.chosen[step][game]])
            for number, (estimator, log_prob, state) in enumerate(
                [
                    (task.reinforce, of_location, glimpsed.known),
                    (task.reinforce_actions, of_action, glimpsed.hidden),
                ]
            ):
                expected = float(estimator.baseline(state[game, 0]))  # type: ignore[union-attr]
                reinforce[number] -= log_prob * (to_go - expected) / 6
                mse[number] += (to_go - expected) ** 2 / 6
    expected_terms = {
        "reinforce": reinforce[0],
        "baseline_mse": mse[0],
        "reinforce_actions": reinforce[1],
        "baseline_mse_actions": mse[1],
        "entropy_actions": entropy,
        "entropy": steps * 2 * 0.5 * math.log(2 * math.pi * math.e * 0.3**2),
        "reward": rewards,
        "catch_rate": float(played.caught.sum()) / 12,
        "loss": 0.5 * (reinforce[0] + mse[0]) + reinforce[1] + mse[1] - 0.1 * entropy,
    }
    for name, value in expected_terms.items():
        assert float(task.terms[name]) == pytest.approx(value, rel=1e-3), name
    assert loss.item() == pytest.approx(expected_terms["loss"], rel=1e-3)
    watched = ("advantage_std", "explained_variance")
    others = {*watched, *(f"{name}_actions" for name in watched), "saturation"}
    assert set(task.terms) == {*expected_terms, *others}


@pytest.mark.parametrize("policy", [CenterPolicy, RandomPolicy])
def test_control_policies_learn_to_act_alone(policy: Any) -> None:
    task = make_task(ram(policy=policy))
    assert task.reinforce is None
    task.training_step(games(), 0)
    assert "reinforce_actions" in task.terms
    assert not {"reinforce", "baseline_mse", "saturation"} & set(task.terms)


def test_games_are_played_with_what_was_chosen() -> None:
    """Rewards are those of a game that is given the same actions; each look sees the board of its moment."""
    task, batch = make_task(), games()
    for sample in (False, True):
        played, game = task.play(batch, sample=sample), Catch(batch)
        for glimpsed, actions, chosen, reward in zip(
            played.glimpses, played.actions, played.chosen, played.rewards, strict=True
        ):
            memory = task.network.sensor.prepare(game.observe())  # type: ignore[union-attr, operator]
            seen = task.network.sensor(memory, glimpsed.look.location)  # type: ignore[operator]
            assert torch.equal(glimpsed.glimpse, seen)
            assert sample or torch.equal(chosen, actions.logits.argmax(-1))
            assert torch.equal(game.act(chosen), reward)
    first, second = (task.play(batch, sample=True).chosen for _ in range(2))
    assert not torch.equal(torch.stack(first), torch.stack(second))


class Still(nn.Module):
    """An agent that looks at the rim of the board and never moves."""

    hidden_size = 4

    def __init__(self) -> None:
        super().__init__()
        self.policy, self.action = CenterPolicy(state_size=4), nn.Linear(4, 3)
        nn.init.zeros_(self.action.weight)
        self.action.bias.data = torch.tensor([0.0, 1.0, 0.0])

    def episode(
        self, observe: Any, steps: int, *, episodes: int = 1, sample: bool = False
    ) -> Iterator[Glimpsed]:
        for _ in range(steps):
            boards = observe()
            location = torch.full((len(boards), 1, 2), 0.97)
            known = torch.zeros(len(boards), 1, 4)
            yield Glimpsed(Look(location, location), boards[:, None, None], known, known)


def test_scores_and_predictions() -> None:
    """Three balls straight down: over the paddle, beside it, over it; in another game all beside it."""
    task = make_task(Still())
    batch = CatchBatch(
        index=torch.tensor([0, 1]),
        paddle=torch.tensor([2, 2]),
        columns=torch.tensor([[2, 4, 3], [1, 0, 7]]),
        drifts=torch.zeros(2, 3, dtype=torch.int64),
        names=["val 0", "val 1"],
        rules=CatchRules(8, 1),
    )
    task.scores["val"], task.predictions["val"] = task.new_scores("val"), []
    task._evaluate("val", batch)
    values = {name: float(value) for name, value in task.scores["val"].finish().items()}  # type: ignore[operator]
    assert values == {
        "catch_rate": pytest.approx(1 / 3),
        "catch_rate_standard_error": pytest.approx(1 / 3),  # of 2/3 and 0
        "saturation": 1.0,
    }
    assert set(values) == set(TrackingTask.metrics)
    found = task.predictions["val"]
    assert [item["input"] for item in found] == ["val 0", "val 1"]
    assert [item["references"] for item in found] == [["3"], ["3"]]
    assert [item["prediction"] for item in found] == ["2", "0"]
    assert [item["score"] for item in found] == [pytest.approx(2 / 3), 0]
    assert torch.tensor(found[0]["locations"]).shape == (21, 2)
    task._evaluate("val", batch._replace(paddle=torch.tensor([0, 6])))
    again = task.scores["val"].finish()  # type: ignore[operator]
    assert float(again["catch_rate"]) == pytest.approx(1 / 6), "a split begins from nothing"


def test_the_alarm_of_a_collapsed_policy(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrackingTask, "current_epoch", 4)
    network = ram()
    task = make_task(network)
    for bias, warned in ((0.0, False), (9.0, True)):
        with torch.no_grad():
            network.policy.linear.bias.fill_(bias)  # type: ignore[union-attr, operator]
        with caplog.at_level(logging.WARNING):
            task.training_step(games(), 0)
            task.on_train_epoch_end()
        assert ("epoch 4: the policy has collapsed: 100 %" in caplog.text) is warned


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"reinforce": {**REINFORCE, "weight": 0.0}}, "weight must be above 0"),
        ({"reinforce": {**REINFORCE, "discount": 1.5}}, "discount must be from 0"),
        ({"entropy_weight": -0.1}, "entropy_weight must be at least 0, got -0.1"),
        ({"network": FullyConnected(spec=SPEC, hidden_size=4)}, "FullyConnected takes no glimpses"),
    ],
)
def test_bad_arguments_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make_task(**changes)


def test_a_small_game_is_learned(tmp_path: Path) -> None:
    """4 x 4 pixels, one ball: nearly always caught, which chance does in about half of the games."""
    sizes = {"train_games": 25_600, "validation_games": 200, "test_games": 10}
    data = CatchData(size=4, ball=1, balls=1, batch_size=128, seed=1, **sizes)
    data.setup()
    network = ram(partial(LearnedPolicy, std=0.15), glimpse_size=6, scales=1)
    task = make_task(network, entropy_weight=0.05, optimizer=partial(torch.optim.Adam, lr=1e-2))
    before = task.play(data._splits["val"][Part(0, np.arange(200))], sample=True)
    assert before.caught.mean() < 0.6
    trainer = Trainer(
        max_steps=200,
        accelerator="cpu",
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=1.0,
    )
    trainer.fit(task, datamodule=data)
    assert float(trainer.callback_metrics["val/catch_rate"]) > 0.85
    assert [item["id"] for item in task.predictions["val"]] == list(range(200))
