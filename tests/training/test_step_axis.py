"""Every value that is logged stands at the trainer's global step."""

from pathlib import Path

from fake_task import FakeTask, Fit

from zoo.core.metrics_csv import read_metrics
from zoo.loggers.metrics_file import MetricsFile
from zoo.training.callbacks import StepAxis


def test_training_validation_and_test_share_one_axis(fit: Fit, tmp_path: Path) -> None:
    logger = MetricsFile(tmp_path / "metrics.csv")
    fit(FakeTask(), [StepAxis()], [logger], test=True)
    steps: dict[str, list[int]] = {}
    for row in read_metrics(logger.path):
        steps.setdefault(row.name, []).append(row.step)
        if row.name == "val/score":  # the task logs the global step as this value
            assert row.step == row.value
    assert steps == {
        "train/loss": [2, 4, 6, 8],
        "epoch": [2, 4, 6, 8],
        "val/score": [4, 8],
        "val/tf_loss": [4, 8],
        "test/score": [8],
    }


def test_steps_are_optimiser_steps_not_batches(fit: Fit, tmp_path: Path) -> None:
    logger = MetricsFile(tmp_path / "metrics.csv")
    fit(FakeTask(), [StepAxis()], [logger], accumulate_grad_batches=2)
    assert [row.step for row in read_metrics(logger.path) if row.name == "train/loss"] == [2, 4]
    assert [row.step for row in read_metrics(logger.path) if row.name == "val/score"] == [2, 4]
