"""Sweeps of jobs that are over in milliseconds."""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra

import train
from zoo.runs.status import State, StatusFile
from zoo.sweeps import sweep
from zoo.sweeps.record import Sweep, SweepJob

FAKE = Path(__file__).with_name("fake_job.py")

MakeSweep = Callable[..., Sweep]
Start = Callable[..., int]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep looks at its jobs, which take no time, more often than at real ones."""
    monkeypatch.setattr(sweep, "_SECONDS", 0.01)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def start_faked(runs: Path, monkeypatch: pytest.MonkeyPatch, fake_script: Path) -> Iterator[Start]:
    """Runs `train.py` with a command line in this process, and its jobs by `fake_job.py`."""
    monkeypatch.setattr(train, "SCRIPT", fake_script)

    def run(*line: str) -> int:
        monkeypatch.setattr(sys, "argv", ["train.py", *line, f"paths.runs_dir={runs}"])
        return train.main()

    yield run
    GlobalHydra.instance().clear()


@pytest.fixture(scope="session")
def fake_script() -> Path:
    return FAKE


@pytest.fixture
def make_sweep(tmp_path: Path, make_sweep_in: MakeSweep) -> MakeSweep:
    """Queues jobs that do as they are told: `make_sweep("finish", "raise", parallel=2)`."""
    return partial(make_sweep_in, tmp_path / "sweep")


@pytest.fixture(scope="session")
def make_sweep_in() -> MakeSweep:
    """Does the same in a folder: `make_sweep_in(folder, "finish", "raise", parallel=2)`."""

    def make(folder: Path, *acts: str, trainer: dict[str, Any] | None = None, **settings: Any) -> Sweep:
        jobs = []
        for number, act in enumerate(acts):
            run = folder / f"{number}_job_0000000{number}"
            run.mkdir(parents=True)
            config = {
                "act": act,
                "trainer": trainer or {"accelerator": "cpu", "devices": 1},
                "callbacks": {"best": {"monitor": "val/chrf", "mode": "max"}},
                "sweep": settings,
            }
            (run / "config.yaml").write_text(json.dumps(config))  # which is YAML, too
            overrides = ["data=reverse", f"seed={number}"]
            StatusFile(run).start(overrides, State.QUEUED)
            jobs.append(SweepJob(number, run, overrides, config))
        sweep = Sweep(folder, ["data=reverse", "seed=1,2"], "local", "basic", None, {}, jobs)
        sweep.write()
        return sweep

    return make


@pytest.fixture
def states() -> Callable[[Sweep], list[State]]:
    """The state of every job of a sweep."""
    return lambda sweep: [StatusFile(job.folder).read().state for job in sweep.jobs]
