"""`zoo resume`, `zoo rerun`, `zoo test`, `zoo clean`: which train.py they start and how; what they refuse."""

import json
import os
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from zoo.cli.app import main
from zoo.core.lock import is_held
from zoo.runs.status import State, StatusFile

pytestmark = pytest.mark.usefixtures("became")  # nothing becomes another program here


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "conf").mkdir(parents=True)
    (folder / "train.py").touch()
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "2026-01-31" / "12-00-00_a_1f2e3d4c"
    (folder / "checkpoints").mkdir(parents=True)
    config = {"name": "a", "paths": {"runs_dir": str(tmp_path / "runs"), "run_dir": str(folder)}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    StatusFile(folder).start()
    StatusFile(folder).end(State.FINISHED, exit_code=0)
    return folder


def _zoo(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_resume_becomes_the_checkouts_own_script(checkout: Path, run: Path, became: list[str]) -> None:
    """So that signals reach it, and its exit code is that of the command."""
    assert _zoo("resume", run, "--project", checkout).exit_code == 7
    assert became == [f"{checkout}/train.py", "--frozen", f"{run}/config.yaml", "--resume"]


def test_rerun_starts_a_copy_in_a_new_folder(checkout: Path, run: Path, became: list[str]) -> None:
    assert _zoo("rerun", run, "--project", checkout).exit_code == 7
    (new,) = (path.parent for path in run.parents[1].glob("*/*/config.yaml") if path.parent != run)
    assert became == [f"{checkout}/train.py", "--frozen", f"{new}/config.yaml"]
    assert StatusFile(new).read().state is State.QUEUED


@pytest.fixture
def testable(run: Path) -> Path:
    """A run whose folder looks as if it had a checkpoint."""
    (run / "checkpoints" / "best.ckpt").touch()
    costs = {"seconds": 1.0, "per_second": {}, "peak_memory_bytes": 1, "machine": {}}
    (run / "results.json").write_text(json.dumps(costs))
    return run


def test_a_test_is_left_to_the_checkouts_own_script(
    checkout: Path, testable: Path, became: list[str]
) -> None:
    line = ["decoding=greedy", "data.batch_size=1"]
    assert _zoo("test", testable, *line, "--project", checkout).exit_code == 7
    assert became == [f"{checkout}/train.py", "--weights", str(testable), *line]


def test_what_cannot_be_tested_is_refused_in_one_line(
    checkout: Path, testable: Path, became: list[str]
) -> None:
    def said(run: Path) -> str:
        result = _zoo("test", run, "--project", checkout)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr

    mistyped = testable.with_name(testable.name.replace("_a_", "_b_"))
    assert f"{mistyped} does not exist; did you mean {testable}?" in said(mistyped)
    assert "is not a run's folder: it has no config.yaml" in said(testable / "checkpoints")
    (testable / "results.json").rename(testable / "elsewhere.json")
    assert "results.json does not exist: it says what the training took" in said(testable)
    (testable / "checkpoints" / "best.ckpt").rename(testable / "checkpoints" / "last.ckpt")
    assert "has no checkpoints/best.ckpt; it has checkpoints/last.ckpt" in said(testable)
    StatusFile(testable).end(State.FAILED, exit_code=1)
    assert "is failed: only a run that has finished can be tested once more" in said(testable)
    (testable / "sweep.json").touch()
    assert "is a sweep's folder: name one of the runs in it" in said(testable)
    assert not became


def test_the_checkout_is_found_upward(checkout: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = checkout / "deep" / "inside"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert _zoo("resume", run).exit_code == 7


@pytest.mark.parametrize("verb", ["resume", "rerun"])
def test_what_is_no_run_is_refused_in_one_line(
    verb: str, checkout: Path, run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def said(*arguments: object) -> str:
        result = _zoo(verb, *arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr

    mistyped = run.with_name(run.name.replace("_a_", "_b_"))
    assert f"{mistyped} does not exist; did you mean {run}?" in said(mistyped, "--project", checkout)
    assert "is not a run's folder: it has no config.yaml" in said(run / "checkpoints", "--project", checkout)
    assert f"found no checkout (a folder with conf/ and train.py) in {run}" in said(run, "--project", run)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zoo.core.checkout.__file__", str(tmp_path / "zoo" / "core" / "checkout.py"))
    assert "name one with --project" in said(run)


def test_clean_shows_and_then_removes(run: Path) -> None:
    last, best = run / "checkpoints" / "last.ckpt", run / "checkpoints" / "best.ckpt"
    for file in (last, best):
        file.write_bytes(bytes(3 * 2**20))
    shown = _zoo("clean", "--dry-run", run.parents[1])
    assert shown.exit_code == 0
    assert "last.ckpt  (the run is finished; best.ckpt stays)" in shown.stdout
    assert "3.0 MiB  would be freed" in shown.stdout
    assert last.exists()
    assert "3.0 MiB  freed" in _zoo("clean", run).stdout
    assert not last.exists()
    assert best.exists()
    nothing = _zoo("clean", run / "checkpoints")
    assert (nothing.exit_code, nothing.stderr) == (2, f"error: there is no run in {run}/checkpoints\n")


def test_one_damaged_run_keeps_no_other_from_being_cleaned(run: Path) -> None:
    for name in ("last.ckpt", "best.ckpt"):
        (run / "checkpoints" / name).write_bytes(b"")
    other = run.with_name("11-00-00_b_00000000")
    other.mkdir()
    (other / "status.json").write_text("{")
    result = _zoo("clean", run.parents[1])
    assert result.exit_code == 1
    assert f"left alone: {other}/status.json is not a run's status" in result.stderr
    assert not (run / "checkpoints" / "last.ckpt").exists()


@pytest.mark.parametrize("name", ["checkpoints", "checkpoints/last.ckpt"])
def test_clean_never_leaves_a_runs_folder(run: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in ("last.ckpt", "x.tmp"):
        (elsewhere / file).touch()
    if name == "checkpoints":
        (run / name).rmdir()
    (run / name).symlink_to(elsewhere if name == "checkpoints" else elsewhere / "last.ckpt")
    result = _zoo("clean", run)
    assert result.exit_code == 1
    assert f"left alone: {run / name} is a link to {elsewhere}" in result.stderr
    assert len(list(elsewhere.iterdir())) == 2


def test_clean_leaves_a_folder_alone_that_is_called_like_half_a_file(run: Path) -> None:
    (run / "x.tmp").mkdir()
    (run / "y.tmp").touch()
    assert _zoo("clean", run).exit_code == 0
    assert (run / "x.tmp").is_dir()
    assert not (run / "y.tmp").exists()


@pytest.mark.parametrize("content", ["[" * 100_000, "null", " " * (2**20 + 1)], ids=["deep", "null", "large"])
def test_whatever_stands_in_a_status_stops_no_other_run(run: Path, content: str) -> None:
    other = run.with_name("11-00-00_b_00000000")
    other.mkdir()
    (other / "status.json").write_text(content)
    for name in ("last.ckpt", "best.ckpt"):
        (run / "checkpoints" / name).write_bytes(b"")
    result = _zoo("clean", run.parents[1])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"left alone: {other}/status.json is not a run's status: ")
    assert result.stderr.count("\n") == 1
    assert not (run / "checkpoints" / "last.ckpt").exists()


@pytest.mark.parametrize("name", ["status.json", "train.log"])
def test_a_pipe_in_a_runs_folder_is_not_waited_for(run: Path, name: str) -> None:
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    result = _zoo("clean", run)
    assert result.exit_code == 1
    assert f"left alone: {run / name} is a named pipe" in result.stderr
    assert is_held(run) in (False, None)
