"""Captioning that trains on CIDEr-D itself."""

import math
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from quiet import quiet_trainer
from test_captioning_task import Sides, batch, make_task

from zoo.attention import Hard, MovingAverageBaseline, Soft
from zoo.core.text import TextCodec
from zoo.decoding import Hypothesis
from zoo.kernels.noise import keyed
from zoo.metrics import caption_scores
from zoo.tasks.captioning import CaptioningTask, SelfCritical

REFERENCES = [["red left", "something red"], ["green right", "something"], ["blue left", "nothing"]]


def critical(
    selection: Any = Soft, *, samples: int = 3, after: float = 0.0, **changes: Any
) -> CaptioningTask:
    objective = SelfCritical(samples=samples, after=after)
    objective.weigh_by(batch().references)
    task = make_task(selection, objective=objective, **changes)
    task._share_done = lambda: 0.0  # type: ignore[method-assign]
    return task


def test_rewards_are_cider_d_in_which_the_end_is_a_word() -> None:
    objective = SelfCritical(samples=1, after=0.0)
    objective.weigh_by(REFERENCES)
    found = objective.rewards(["red left", "red left", "blue"], [True, False, True], REFERENCES[0])
    ended = [[f"{text} eos" for text in texts] for texts in REFERENCES]
    for reward, text in zip(found, ["red left eos", "red left", "blue eos"], strict=True):
        expected = caption_scores("", [text, "zero", "zero"], ended)["_cider_d"]
        assert reward == pytest.approx(3 * expected, abs=1e-6)
    assert found[0] > found[1] > found[2] == 0


@pytest.mark.parametrize("image_of", [None, torch.tensor([1, 0, 0, 2])], ids=["each its own", "shared"])
def test_the_gradient_is_that_of_the_paper(
    monkeypatch: pytest.MonkeyPatch, image_of: torch.Tensor | None
) -> None:
    task, given = critical(samples=2, doubly_stochastic=0.0).double(), batch(4)
    assert given.images is not None
    assert task.objective is not None
    images = given.images.double()[: 4 if image_of is None else 3]
    references = [given.references[row] for row in ([0, 1, 2, 3] if image_of is None else [1, 0, 3])]
    codec, texts = TextCodec(task.target), ["red", "green left", "blue right", "green right"]
    ids = codec.encode(texts)
    greedy = [[Hypothesis(ids[0], 0.0, 0.0, True)]] * len(images)
    ends = [True, True, False, True]  # the limit cut off the third
    ids[2] = ids[2][:-1]
    sampled = [
        [Hypothesis(ids[number], 0.0, 0.0, ends[number]) for number in ((image + 1) % 4, (image + 2) % 4)]
        for image in range(len(images))
    ]
    monkeypatch.setattr(task, "_own_captions", lambda *_: (greedy, sampled))

    total, words = torch.zeros((), dtype=torch.float64), 0
    for image, refs in enumerate(references):
        one = task.network.encode(task.network.annotate(images[image : image + 1]))
        base = task.objective.rewards([texts[0]], [True], refs)[0]
        for number in ((image + 1) % 4, (image + 2) % 4):
            gain = task.objective.rewards([texts[number]], [ends[number]], refs)[0] - base
            state, token = task.network.init_state(one), task.target.bos
            for word in ids[number]:
                step = task.network.step(torch.tensor([[token]]), state, one)
                log_probs = step.log_probs[0, 0].clone()
                log_probs[[task.target.pad, task.target.bos, task.target.unk]] = -torch.inf
                total = total - gain * log_probs.log_softmax(-1)[word]
                state, token, words = step.state, word, words + 1
    parameters = list(task.network.parameters())
    expected = torch.autograd.grad(total / words, parameters)
    loss, terms = task.loss_of(given._replace(images=images, image_of=image_of))
    for one, other in zip(torch.autograd.grad(loss, parameters), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-7)  # log-probabilities are float32
    assert terms["greedy_cider_d"] == pytest.approx(
        sum(task.objective.rewards([texts[0]], [True], refs)[0] for refs in references) / len(references)
    )


@pytest.mark.parametrize("selection", [Soft, Hard])
def test_captions_that_are_worth_the_greedy_one_teach_nothing(
    monkeypatch: pytest.MonkeyPatch, selection: Any
) -> None:
    reinforce = {"baseline": MovingAverageBaseline, "entropy_weight": 0.0, "discount": 1.0}
    task = critical(selection, doubly_stochastic=0.0, reinforce=reinforce)
    assert task.objective is not None
    task.loss_of(batch())[0].backward()  # type: ignore[no-untyped-call]
    assert any(weight.grad is not None and weight.grad.any() for weight in task.network.parameters())
    task.zero_grad()
    monkeypatch.setattr(task.objective, "rewards", lambda captions, *_: [0.7] * len(captions))
    task.loss_of(batch())[0].backward()  # type: ignore[no-untyped-call]
    assert not any(weight.grad is not None and weight.grad.any() for weight in task.network.parameters())


def test_words_come_from_the_probabilities_that_have_a_gradient() -> None:
    """Without dropout: the same items have the same loss, and only cross-entropy has dropout again."""
    task, given = critical(doubly_stochastic=0.0), batch()
    dropout = task.network.decoder.dropout  # type: ignore[attr-defined]
    dropout.p = 0.9
    one, other = (float(task.training_step(given, 0)) for _ in range(2))
    assert one == other != 0
    assert dropout.training
    assert float(task.training_step(given._replace(index=given.index + 100), 0)) != one, "other samples"


def test_samples_have_the_probabilities_of_the_model() -> None:
    task, given = critical(samples=100), batch(2)
    assert given.images is not None
    assert task.objective is not None
    images = given.images[[0, 1]].repeat(20, 1, 1, 1)
    memory = task.network.encode(task.network.annotate(images))
    with keyed(torch.arange(40)):
        _, found = task._own_captions(task.objective, memory, 40)
    assert [one.ids for one in found[0]] != [one.ids for one in found[2]], "equal images share no numbers"
    sampled = [[one for several in found[image::2] for one in several] for image in range(2)]
    memory = task.network.encode(task.network.annotate(given.images))
    with torch.no_grad():
        first = task.network.step(
            torch.full((2, 1), task.target.bos), task.network.init_state(memory), memory
        )
    allowed = first.log_probs[:, 0].exp()
    allowed[:, [task.target.pad, task.target.bos, task.target.unk]] = 0.0
    for probabilities, several in zip(allowed / allowed.sum(1, keepdim=True), sampled, strict=True):
        drawn = Counter(one.ids[0] for one in several)
        for token, probability in enumerate(probabilities.tolist()):
            assert abs(drawn[token] / 2000 - probability) < 5 * math.sqrt(probability / 2000) + 1e-9


@pytest.mark.parametrize("selection", [Soft, partial(Hard), None], ids=["soft", "hard", "none"])
def test_captions_become_better(selection: Any) -> None:
    task, given = critical(selection, samples=5, doubly_stochastic=0.0), batch()
    optimizer = torch.optim.Adam(task.parameters(), lr=0.01)
    scores = []
    for step in range(60):
        optimizer.zero_grad()
        task.training_step(given, step).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scores.append(float(task.terms["sampled_cider_d"]))
        assert task.network.training
    assert sum(scores[-10:]) > 1.5 * sum(scores[:10])


def test_it_begins_after_its_share_of_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_task(objective=SelfCritical(samples=2, after=0.5))
    seen: list[bool] = []
    loss_of = task.loss_of
    monkeypatch.setattr(
        task,
        "loss_of",
        lambda given: (found := loss_of(given), seen.append("sampled_cider_d" in found[1]))[0],
    )
    data = Sides()
    asked: list[str] = []
    references = lambda split: asked.append(split) or batch().references  # noqa: E731
    monkeypatch.setattr(data, "references", references, raising=False)
    trainer = quiet_trainer(tmp_path, max_steps=6, limit_val_batches=0)
    trainer.fit(task, datamodule=data)
    assert seen == [False] * 3 + [True] * 3
    assert asked == ["train"]
    seen.clear()
    task.tests_rates = True
    quiet_trainer(tmp_path, max_steps=6, limit_val_batches=0).fit(task, datamodule=data)
    assert seen == [False] * 6, "a test of rates watches one loss"


def test_limits_in_time_count(monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_task(objective=SelfCritical(samples=2, after=0.5))
    monkeypatch.setattr(task, "_trainer", SimpleNamespace(global_step=5, estimated_stepping_batches=math.inf))
    monkeypatch.setattr(task, "_spent_time", lambda: lambda: 0.75)
    assert task._share_done() == 0.75


@pytest.mark.parametrize("settings", [{"samples": 0}, {"after": 1.0}, {"after": -0.1}])
def test_senseless_numbers(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        SelfCritical(**settings)
