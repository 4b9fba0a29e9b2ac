"""metrics.csv: long form, append-only, nothing skipped."""

import math
from pathlib import Path

import pytest
import torch
from lightning.pytorch.utilities import rank_zero_only

from zoo.core.metrics_csv import Value, read_metrics
from zoo.loggers.metrics_file import MetricsFile


def test_every_value_is_a_row(tmp_path: Path) -> None:
    logger = MetricsFile(tmp_path / "run" / "metrics.csv")
    logger.log_metrics({"train/loss": 0.5, "train/odd, name": torch.tensor(2)}, step=3)
    logger.log_metrics({"val/loss": 0.25}, step=3)
    logger.log_metrics({}, step=4)
    assert logger.path.read_bytes() == (
        b'step,name,value\n3,train/loss,0.5\n3,"train/odd, name",2.0\n3,val/loss,0.25\n'
    )
    assert list(read_metrics(logger.path))[1] == Value(3, "train/odd, name", 2.0)


def test_values_that_are_not_finite_are_written(tmp_path: Path) -> None:
    logger = MetricsFile(tmp_path / "metrics.csv")
    logger.log_metrics({"a": math.nan, "b": -math.inf}, step=1)
    values = [row.value for row in read_metrics(logger.path)]
    assert math.isnan(values[0])
    assert values[1] == -math.inf


def test_a_second_process_continues_the_file(tmp_path: Path) -> None:
    for step in (1, 2):
        MetricsFile(tmp_path / "metrics.csv").log_metrics({"a": 0.1}, step=step)
    assert (tmp_path / "metrics.csv").read_text() == "step,name,value\n1,a,0.1\n2,a,0.1\n"


def test_the_first_process_writes_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    MetricsFile(tmp_path / "metrics.csv").log_metrics({"a": 1.0}, step=1)
    assert not (tmp_path / "metrics.csv").exists()


def test_a_row_that_was_cut_is_none(tmp_path: Path) -> None:
    """Not even where what is left of it looks like one."""
    file = tmp_path / "metrics.csv"
    for rest in ("2", "2,a", "2,a,0.2"):
        file.write_text(f"step,name,value\n1,a,1.0\n{rest}")
        assert list(read_metrics(file)) == [Value(1, "a", 1.0)]


def test_values_survive_exactly(tmp_path: Path) -> None:
    value = 0.1 + 0.2
    MetricsFile(tmp_path / "metrics.csv").log_metrics({"a": value}, step=1)
    assert [row.value for row in read_metrics(tmp_path / "metrics.csv")] == [value]


def test_values_without_a_step_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="without a step"):
        MetricsFile(tmp_path / "metrics.csv").log_metrics({"a": 1.0})


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    file.write_text("step,name,value\n1,a,1.0\n2,a\n")
    with pytest.raises(ValueError, match=r"metrics\.csv, line 3"):
        list(read_metrics(file))
    file.write_text("something else\n")
    with pytest.raises(ValueError, match="does not begin with step,name,value"):
        list(read_metrics(file))
