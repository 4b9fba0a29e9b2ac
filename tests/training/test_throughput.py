"""Speed, cost, and the totals that results.json reports."""

from pathlib import Path

import pytest
import torch
from fake_task import FakeTask, Fit
from torch import Tensor

from zoo.core.metrics_csv import read_metrics
from zoo.loggers.metrics_file import MetricsFile
from zoo.tasks.recognition.batch import ImageBatch
from zoo.tasks.translation.batch import TranslationBatch
from zoo.training.callbacks import StepAxis, Throughput
from zoo.training.callbacks import throughput as module


class _Clock:
    """Every look at it takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now


def _values(path: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in read_metrics(path):
        found.setdefault(row.name, []).append(row.value)
    return found


def test_what_is_logged(fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = module._peak_memory(torch.device("cpu"))  # which may grow between the last log and the end
    monkeypatch.setattr(module, "_peak_memory", lambda device: used)
    logger = MetricsFile(tmp_path / "metrics.csv")
    throughput = Throughput()
    fit(FakeTask(), [StepAxis(), throughput], [logger])
    values = _values(logger.path)
    assert values["train/real_token_share"] == pytest.approx([0.75] * 4)  # 9 of 12 places on both sides
    assert values["train/learning_rate"] == [0.25] * 4
    # The gradient of w² is 2w; w halves at every step, and the steps 2, 4, 6 and 8 are logged.
    assert values["train/gradient_norm"] == pytest.approx([1.0, 0.25, 0.0625, 0.015625])
    assert values["train/seconds"] == sorted(values["train/seconds"])
    ratio = [
        a / b
        for a, b in zip(values["train/tokens_per_second"], values["train/sentences_per_second"], strict=True)
    ]
    assert ratio == pytest.approx([2.0] * 4)  # 6 predicted tokens in 3 sentences
    assert values["train/peak_memory_bytes"][-1] == throughput.peak_memory_bytes > 50e6


def test_totals_cover_all_steps_and_no_validation(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "time", _Clock())
    throughput = Throughput()
    fit(FakeTask(), [throughput], log_every_n_steps=3)
    # 8 steps of 6 tokens and 3 sentences. Looks at the clock, a second each: one per step and one more per
    # logged step (3, 6) and at the end; those at the start and behind each validation begin a new stretch.
    assert throughput.per_second == pytest.approx({"tokens": 48 / 11, "sentences": 24 / 11})
    assert throughput.seconds == 13


def test_the_norm_is_that_before_clipping(fit: Fit, tmp_path: Path) -> None:
    logger = MetricsFile(tmp_path / "metrics.csv")
    fit(FakeTask(), [Throughput()], [logger], gradient_clip_val=0.001, log_every_n_steps=1)
    assert _values(logger.path)["train/gradient_norm"][0] == pytest.approx(2.0)


def test_accumulated_batches_are_all_counted_and_logged_once(fit: Fit, tmp_path: Path) -> None:
    logger = MetricsFile(tmp_path / "metrics.csv")
    fit(FakeTask(), [StepAxis(), Throughput()], [logger], accumulate_grad_batches=2, log_every_n_steps=1)
    steps = [row.step for row in read_metrics(logger.path) if row.name == "train/tokens_per_second"]
    assert steps == [1, 2, 3, 4]


def test_before_any_training_there_is_no_speed() -> None:
    assert Throughput().per_second == {}


def test_counts_are_resumed(fit: Fit) -> None:
    first = Throughput()
    fit(FakeTask(), [first], log_every_n_steps=3, max_steps=5, limit_val_batches=0)
    stopped = Throughput()
    stopped._window = {"tokens": torch.tensor(6), "sentences": 3, "real": 9, "positions": 12}
    resumed = Throughput()
    resumed.load_state_dict(stopped.state_dict() | {"totals": {"tokens": 100, "sentences": 10}})
    fit(FakeTask(), [resumed], log_every_n_steps=1000, max_steps=1, limit_val_batches=0)
    assert resumed._totals == {"tokens": 100 + 6 + 6, "sentences": 10 + 3 + 3}
    tested = Throughput()
    tested.load_state_dict(first.state_dict())
    assert tested.per_second == {}, "a checkpoint that is only tested changes nothing"


def test_images_are_counted_as_such(fit: Fit) -> None:
    throughput = Throughput()
    images = ImageBatch(torch.arange(5), torch.zeros(5, 1, 2, 2), torch.zeros(5), [""] * 5)
    trainer = fit(FakeTask(), [throughput], log_every_n_steps=1000, max_steps=1, limit_val_batches=0)
    before = dict(throughput._totals)
    throughput.on_train_batch_end(trainer, trainer.lightning_module, None, images, 0)
    throughput.on_train_end(trainer, trainer.lightning_module)
    assert throughput._totals == before | {"images": 5}


class _Products(FakeTask):
    """Its loss is that of a product of 2 x 3 by 3 x 4 entries."""

    def training_step(self, batch: TranslationBatch, number: int) -> Tensor:
        self.terms = {}
        return (torch.ones(2, 3) @ torch.ones(3, 4)).sum() * 0 + self.weight.square().sum()


def test_operations_are_a_share_of_the_cards_peak(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = MetricsFile(tmp_path / "metrics.csv")
    fit(_Products(), [StepAxis(), Throughput()], [logger])
    assert "train/mfu" not in _values(logger.path), "a processor's peak is not known"
    monkeypatch.setattr(module, "peak_flops", lambda device: 1e6)
    logger, first = MetricsFile(tmp_path / "of_a_card.csv"), Throughput()
    fit(_Products(), [StepAxis(), first], [logger])
    values = _values(logger.path)
    flops = 2 * 2 * 3 * 4 / 6  # of a token: a batch has 6
    assert first.state_dict()["flops_per_item"] == flops
    expected = [flops * speed / 1e6 for speed in values["train/tokens_per_second"]]
    assert values["train/mfu"] == pytest.approx(expected)

    resumed = Throughput()
    resumed.load_state_dict(first.state_dict())
    monkeypatch.setattr(module, "flop_counter", lambda: pytest.fail("it is known already"))
    fit(_Products(), [resumed], max_steps=1, limit_val_batches=0)


def test_a_step_that_fails_leaves_no_counter_behind(fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(FakeTask):
        def training_step(self, batch: TranslationBatch, number: int) -> Tensor:
            raise ValueError("no")

    monkeypatch.setattr(module, "peak_flops", lambda device: 1e6)
    throughput = Throughput()
    with pytest.raises(ValueError, match="no"):
        fit(Failing(), [throughput])
    assert throughput._counting is None
