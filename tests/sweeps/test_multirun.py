"""`train.py -m` from the command line to the folders of its jobs; the jobs themselves are stand-ins."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from zoo.config import compose, jobs
from zoo.runs.status import State, StatusFile
from zoo.sweeps import begin
from zoo.sweeps.record import read_sweep
from zoo.sweeps.sweep import resume_sweep

TINY = ["data=reverse", "trainer=debug", "logger=csv", "model.embedding_size=8", "model.hidden_size=8"]

Start = Callable[..., int]


def test_a_sweep_with_accidents(
    start_faked: Start, runs: Path, fake_script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start_faked(*TINY, "-m", "seed=1,2,3,4", "sweep.name=seeds", "sweep.parallel=2") == 1
    said = capsys.readouterr().out

    (folder,) = runs.glob("*/*")
    assert "_seeds_" in folder.name
    sweep = read_sweep(folder)
    assert sweep.overrides == [
        *TINY,
        "seed=1,2,3,4",
        "sweep.name=seeds",
        "sweep.parallel=2",
        f"paths.runs_dir={runs}",
    ]
    names = [job.folder.name.split("_")[1] for job in sweep.jobs]
    assert names == ["0-seed-1", "1-seed-2", "2-seed-3", "3-seed-4"]
    states = [StatusFile(job.folder).read().state for job in sweep.jobs]
    assert states == [State.FINISHED, State.FAILED, State.FINISHED, State.KILLED]
    for number, job in enumerate(sweep.jobs):
        config = yaml.safe_load((job.folder / "config.yaml").read_text())
        assert config == job.config
        assert config["sweep"]["name"] == "seeds"
        assert config["name"] == f"{number}-seed={number + 1}"
        assert config["paths"]["run_dir"] == str(job.folder)
        assert f"seed={number + 1}" in StatusFile(job.folder).read().overrides

    rows = [line for line in said.splitlines() if "│" in line]
    assert ["finished" in row for row in rows] == [True, False, True, False]
    assert "│ killed" in rows[3]
    assert "as it was told" in rows[1]
    assert all(job.folder.name in row for job, row in zip(sweep.jobs, rows, strict=True))

    assert resume_sweep(fake_script, folder) == 0
    assert {StatusFile(job.folder).read().state for job in sweep.jobs} == {State.FINISHED}


def test_all_is_well(start_faked: Start, runs: Path) -> None:
    assert start_faked(*TINY, "-m", "seed=1,3") == 0
    (folder,) = runs.glob("*/*")
    assert {job.config["sweep"]["name"] for job in read_sweep(folder).jobs} == {folder.name}


def test_a_sweeper_that_draws_its_jobs_runs_them_too(
    start_faked: Start, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Optuna's: Hydra composes what it draws, and calls the launcher."""
    monkeypatch.setattr(begin, "LISTING", ())
    assert start_faked(*TINY, "-m", "seed=1,3") == 0
    (folder,) = runs.glob("*/*")
    queued = read_sweep(folder).jobs
    assert [job.folder.name.split("_")[1] for job in queued] == ["0-seed-1", "1-seed-3"]
    assert {StatusFile(job.folder).read().state for job in queued} == {State.FINISHED}
    assert {job.config["sweep"]["name"] for job in queued} == {folder.name}


def test_no_job_is_composed_or_checked_twice(start_faked: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    for name in ("compose", "check"):
        module = {"compose": compose, "check": jobs}[name]
        real = getattr(module, name)

        def counted(*args: Any, name: str = name, real: Any = real, **kwargs: Any) -> Any:
            calls.append(name)
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, counted)
    assert start_faked(*TINY, "-m", "seed=1,3") == 0
    assert sorted(calls) == ["check", "check", "compose", "compose"]


def test_fail_fast_says_so(start_faked: Start, runs: Path) -> None:
    assert start_faked(*TINY, "-m", "seed=2,1", "sweep.fail_fast=true") == 1
    (folder,) = runs.glob("*/*")
    states = [StatusFile(job.folder).read().state for job in read_sweep(folder).jobs]
    assert states == [State.FAILED, State.QUEUED]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            ["sweep=seeds"],
            "sweep=seeds: there is no sweep called seeds; allowed: attention_matrix, ",
        ),
        pytest.param(
            ["sweep.parallel=0"], "sweep.parallel: must be at least 1, got 0", marks=pytest.mark.slow
        ),
        pytest.param(
            ["sweep.worst=nan"], "sweep.worst: must be a finite number, got nan", marks=pytest.mark.slow
        ),
        (["sweep.parallel=two"], "sweep.parallel: must be a whole number, got 'two'"),
        (["sweep.paralel=2"], "did you mean parallel?"),
        pytest.param(
            ["+sweep.jobs=2"],
            "sweep.jobs: no such setting; did you mean jobs_per_gpu?",
            marks=pytest.mark.slow,
        ),
        (["hydra/launcher=basic"], "hydra/launcher: basic does not give each job a process"),
        (
            ["hydra/launcher=slurm"],
            "launcher=slurm: needs a plugin: pip install -e '.[slurm]' in the checkout",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_line_stops_everything(
    start_faked: Start, runs: Path, capsys: pytest.CaptureFixture[str], line: list[str], said: str
) -> None:
    assert start_faked(*TINY, "-m", "seed=1,2", *line) == 2
    assert said in capsys.readouterr().err
    assert not runs.exists()


def test_the_record_is_json(start_faked: Start, runs: Path) -> None:
    """What other tools read: the keys are a contract."""
    start_faked(*TINY, "-m", "seed=1")
    (path,) = runs.glob("*/*/sweep.json")
    record = json.loads(path.read_text())
    assert record.keys() == {"overrides", "launcher", "sweeper", "commit", "options", "jobs"}
    assert record["jobs"][0].keys() == {"folder", "overrides", "config"}
    assert (record["launcher"], record["sweeper"]) == ("local", "basic")
