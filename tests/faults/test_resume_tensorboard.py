"""A run that is stopped and resumed, and one of two processes: TensorBoard has what metrics.csv has."""

import importlib.util
import signal
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import SMALL, only_run
from small_runs import run as in_a_process

import train
from zoo.core.metrics_csv import read_metrics

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="needs the extra tensorboard"),
    pytest.mark.filterwarnings("default"),  # of what TensorBoard builds on
]
LINE = [*(option for option in SMALL if option != "logger=csv"), "logger=[csv,tensorboard]"]


class Stop(train.FinalValidation):
    """Asks to stop in the validation behind step 8, whose training values are logged by then."""

    def on_validation_start(self, trainer: Any, *_: object) -> None:
        if trainer.global_step == 8:
            signal.raise_signal(signal.SIGTERM)


def test_a_resumed_run_has_every_step_once(
    start: Callable[..., int], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(train, "FinalValidation", Stop)
        assert start(*LINE) == 143
    run = only_run(runs)
    assert start("--frozen", str(run / "config.yaml"), "--resume") == 0
    assert len(list((run / "tensorboard").iterdir())) >= 2, "a file for each part"
    assert_same_curves(run)


def test_of_two_processes_one_logs(runs: Path) -> None:
    line = [option for option in LINE if option != "trainer=cpu"]
    code, said = in_a_process(*line, "trainer=ddp_cpu", f"paths.runs_dir={runs}")
    assert code == 0, said
    assert_same_curves(only_run(runs))


def assert_same_curves(run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0}).Reload()
    expected = defaultdict(list)
    for row in read_metrics(run / "metrics.csv"):
        expected[row.name].append((row.step, pytest.approx(row.value, rel=1e-5, nan_ok=True)))
    found = {
        name: [(event.step, event.value) for event in events.Scalars(name)]
        for name in events.Tags()["scalars"]
    }
    assert found == dict(expected)
