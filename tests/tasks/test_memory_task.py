"""Memory: its loss and metrics against counts by hand, and answers to new sequences."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_run import make_answerer, make_player
from torch import Tensor, nn
from typer.testing import CliRunner, Result

import zoo
from zoo.cli.app import main
from zoo.core.spec import DataSpec, VectorSpec
from zoo.networks.sequences import Answer, Trace
from zoo.tasks.memory.batch import SequenceBatch
from zoo.tasks.memory.predictor import SequenceAnswerer
from zoo.tasks.memory.task import MemoryTask

SPEC = DataSpec("copy", {"inputs": VectorSpec(3), "targets": VectorSpec(2)})


class Fixed(nn.Module):
    """Answers what it was told."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, inputs: Tensor) -> Answer:
        return Answer(self.logits)


def randn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def batch() -> SequenceBatch:
    """Four sequences, two of a size of training and two apart, with other numbers of steps that count."""
    steps = torch.arange(6)
    counted = torch.tensor([2, 3, 3, 4])
    return SequenceBatch(
        index=torch.arange(4),
        inputs=torch.zeros(4, 6, 3),
        targets=(randn(4, 6, 2) > 0.3).float(),
        scored=(steps >= 1) & (steps < 1 + counted[:, None]),
        size=torch.tensor([2, 3, 7, 9]),
        apart=torch.tensor([False, False, True, True]),
        names=[f"val {number}" for number in range(4)],
    )


def task(logits: Tensor) -> MemoryTask:
    return MemoryTask(
        network=Fixed(logits),
        spec=SPEC,
        optimizer=partial(torch.optim.Adam, lr=1e-3),
        scheduler=None,
        monitor="val/bits_per_sequence",
    )


class ReadsItsPast(Fixed):
    """A network whose only head reads each step itself."""

    def forward(self, inputs: Tensor) -> Answer:
        reads = torch.eye(6).expand(4, 6, 6).unsqueeze(2)
        return Answer(self.logits, Trace(reads, reads[:, :, :0], over_steps=True))


def test_weights_over_steps_end_with_the_sequence() -> None:
    of = batch()
    trained = task(randn(4, 6, 2))
    trained.network = ReadsItsPast(randn(4, 6, 2))
    for one, scored in zip(trained.answers(of), of.scored, strict=True):
        steps = int(scored.nonzero().max()) + 1
        assert torch.equal(one.read_weights, torch.eye(steps).unsqueeze(1))
        assert one.write_weights.shape == (steps, 0, steps)
        assert one.over_steps


def losses(logits: Tensor, of: SequenceBatch) -> list[list[float]]:
    """For each sequence the nats of every bit that counts."""
    found: list[list[float]] = []
    for row in range(4):
        nats = []
        for step in range(6):
            for bit in range(2):
                if of.scored[row, step]:
                    chance = 1 / (1 + math.exp(-logits[row, step, bit].item()))
                    nats.append(-math.log(chance if of.targets[row, step, bit] else 1 - chance))
        found.append(nats)
    return found


def test_the_loss_is_the_mean_over_bits_that_count() -> None:
    logits = 3 * randn(4, 6, 2)
    loss, terms = task(logits).loss_of(batch())
    nats = [one for row in losses(logits, batch()) for one in row]
    assert loss.item() == pytest.approx(sum(nats) / len(nats), rel=1e-5)
    assert terms["cross_entropy"] is loss


def test_steps_that_do_not_count_have_no_gradient() -> None:
    made = task(randn(4, 6, 2))
    made.loss_of(batch())[0].backward()
    gradient: Any = made.network.logits.grad  # type: ignore[attr-defined]
    assert torch.equal((gradient != 0).any(-1), batch().scored)


def test_metrics_count_sizes_of_training_together_and_others_apart() -> None:
    logits, given = 3 * randn(4, 6, 2), batch()
    logits[0] = 5 * (2 * given.targets[0] - 1)  # one is exact
    made = task(logits)
    made.scores["val"], made.predictions["val"] = made.new_scores("val"), []
    with torch.no_grad():
        made._evaluate("val", given)
    found = {name: value.item() for name, value in made.scores["val"].compute().items()}
    bits = [sum(row) / math.log(2) for row in losses(logits, given)]
    wrong = (((logits > 0) != (given.targets > 0.5)) & given.scored.unsqueeze(-1)).sum((1, 2)).tolist()
    assert wrong[0] == 0
    assert all(wrong[1:])
    assert found == pytest.approx(
        {
            "bits_per_sequence": (bits[0] + bits[1]) / 2,
            "bits_per_sequence_7": bits[2],
            "bits_per_sequence_9": bits[3],
            "wrong_bits": (wrong[0] + wrong[1]) / 10,
            "wrong_bits_7": wrong[2] / 6,
            "wrong_bits_9": wrong[3] / 8,
            "exact_sequences": 0.5,
            "exact_sequences_7": 0.0,
            "exact_sequences_9": 0.0,
        },
        rel=1e-5,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_answerer(folder / "answers")
    make_player(folder / "plays")
    return folder


def predict(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)])


def test_a_trained_model_answers_sequences_that_it_makes(folder: Path, tmp_path: Path) -> None:
    answerer: Any = zoo.load(folder / "answers")
    assert isinstance(answerer, SequenceAnswerer)
    (one,), (again,), (other,) = answerer.play(), answerer.play(seed=1), answerer.play(seed=2)
    assert torch.equal(one.inputs, again.inputs)
    assert not torch.equal(one.inputs, other.inputs)
    assert len(one.inputs) == 2 * 5 + 1, "the largest of training"
    assert one.bits == 5 * 3
    (longer,) = answerer.play(length=9)
    assert longer.inputs.shape == (19, 4)
    assert longer.read_weights.shape == (19, 1, 6)
    np.testing.assert_allclose(longer.write_weights.sum(-1), 1, rtol=1e-5)
    with torch.no_grad():
        logits = answerer.task.network(longer.inputs[None]).logits[0]
    wrong = ((logits > 0) != (longer.targets > 0.5))[longer.scored].sum()
    assert longer.wrong == wrong
    assert answerer.rows([longer]) == [["19 steps", f"{wrong} of 27 bits wrong"]]


def test_the_command_answers_a_length_and_draws_it(folder: Path, tmp_path: Path) -> None:
    plot = tmp_path / "answer.png"
    result = predict(folder / "answers", "--length", 9, "--plot", plot)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("19 steps\t")
    assert plot.read_bytes().startswith(b"\x89PNG")
    refused = predict(folder / "plays", "--length", 9)
    assert refused.exit_code == 2
    assert "takes no --length" in refused.stderr
    refused = predict(folder / "answers", "a sentence", "--length", 9)
    assert refused.exit_code == 2


def test_lengths_are_checked(folder: Path) -> None:
    answerer: Any = zoo.load(folder / "answers")
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        answerer.play(length=0)
    with pytest.raises(ValueError, match="length must be at most 1000, got 1001"):
        answerer.play(length=1001)
    with pytest.raises(TypeError, match="seed"):
        answerer.play(seed="one")
