"""One stop in the middle of an epoch and one kill: the others, which take minutes, are in test_resume.py."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import SMALL, assert_same_run, only_run, run

import train
from zoo.runs.status import State, StatusFile


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As the runs in processes of their own have."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Stop(train.FinalValidation):
    def on_train_batch_end(self, trainer: Any, *rest: Any) -> None:
        if trainer.global_step == 11:
            signal.raise_signal(signal.SIGTERM)
        super().on_train_batch_end(trainer, *rest)


@pytest.mark.slow
def test_a_stopped_and_a_killed_run_end_as_the_one_that_was_not(
    start: Callable[..., int], runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert start(*SMALL) == 0
    whole = only_run(runs)
    whole = whole.rename(tmp_path / "whole")

    with monkeypatch.context() as patch:
        patch.setattr(train, "FinalValidation", Stop)
        assert start(*SMALL) == 143
    stopped = only_run(runs)
    assert StatusFile(stopped).read().state is State.PREEMPTED
    assert _step(stopped) == 11
    assert start("--frozen", str(stopped / "config.yaml"), "--resume") == 0
    assert_same_run(whole, stopped)
    assert StatusFile(stopped).read().state is State.FINISHED

    code, said = run(*SMALL, f"paths.runs_dir={tmp_path}/killed", fault="SIGKILL@step:14")
    assert code == -9, said
    killed = only_run(tmp_path / "killed")
    assert StatusFile(killed).read().state is State.KILLED
    assert _step(killed) == 12, "it saves every three steps"
    assert start("--frozen", str(killed / "config.yaml"), "--resume") == 0
    assert_same_run(whole, killed)
    discarded = (killed / "metrics.discarded.csv").read_text().splitlines()
    assert discarded[0] == "step,name,value"
    assert {line.partition(",")[0] for line in discarded[1:]} == {"13"}


def _step(folder: Path) -> int:
    return int(torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["global_step"])
