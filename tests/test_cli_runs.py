"""`zoo resume`, `zoo rerun`, `zoo clean`: which train.py they start, with what, and what they refuse."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from zoo.cli import main
from zoo.runs.status import State, StatusFile

SCRIPT = """
import pathlib, sys
pathlib.Path(__file__).with_name("said").write_text(" ".join(sys.argv[1:]))
sys.exit(7)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "conf").mkdir(parents=True)
    (folder / "train.py").write_text(SCRIPT)
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


def test_resume_starts_the_checkouts_own_script(checkout: Path, run: Path) -> None:
    result = _zoo("resume", run, "--project", checkout)
    assert result.exit_code == 7, "the exit code is passed on"
    assert (checkout / "said").read_text() == f"--frozen {run}/config.yaml --resume"


def test_rerun_starts_a_copy_in_a_new_folder(checkout: Path, run: Path) -> None:
    result = _zoo("rerun", run, "--project", checkout)
    assert result.exit_code == 7
    (new,) = (path.parent for path in run.parents[1].glob("*/*/config.yaml") if path.parent != run)
    assert (checkout / "said").read_text() == f"--frozen {new}/config.yaml"
    assert StatusFile(new).read().state is State.QUEUED


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
