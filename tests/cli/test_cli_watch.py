"""`zoo watch --wandb` and `--tensorboard`: what opens on which files, and what is said without any."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import wandb
import yaml
from typer.testing import CliRunner, Result
from wandb.cli.cli import cli as wandb_cli

from zoo.cli import watch as cli_watch
from zoo.cli.app import main
from zoo.core import extras
from zoo.loggers.wandb_id import keep_wandb_id
from zoo.runs.status import State, StatusFile

pytestmark = pytest.mark.usefixtures("became")  # nothing becomes another program here


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A checkout's runs: a sweep of two, one of which has begun, and a single run, beside W&B's folder."""
    runs = tmp_path / "runs"
    for name in ("12-00-00_s_aaaaaaaa/12-00-01_0_11111111", "12-00-00_s_aaaaaaaa/12-00-02_1_22222222"):
        _make(runs, name)
    _make(runs, "13-00-00_b_33333333")
    _record(runs, "11111111", "12")
    _record(runs, "33333333", "13")
    _record(runs, "33333333", "14")  # it was resumed
    (runs / "wandb" / "latest-run").symlink_to("offline-run-20260131_140000-33333333")
    return runs


def _make(runs: Path, name: str) -> None:
    folder = runs / "2026-01-31" / name
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump({"paths": {"wandb_dir": str(runs)}}))
    StatusFile(folder).start((), State.QUEUED)


def _record(runs: Path, identity: str, hour: str) -> None:
    folder = runs / "wandb" / f"offline-run-20260131_{hour}0000-{identity}"
    folder.mkdir(parents=True)
    (folder / f"run-{identity}.wandb").touch()
    os.utime(folder / f"run-{identity}.wandb", (int(hour), int(hour)))


def _zoo(*arguments: object) -> Result:
    """`zoo watch --wandb`, unless another dashboard is asked for."""
    dashboard = [] if "--tensorboard" in arguments else ["--wandb"]
    return CliRunner().invoke(main, ["watch", *dashboard, *(str(argument) for argument in arguments)])


def _said(result: Result) -> str:
    assert result.exit_code == 2
    return result.output


SINGLE = "wandb/offline-run-20260131_140000-33333333/run-33333333.wandb"


@pytest.mark.parametrize("below", ["", "2026-01-31", "2026-01-31/12-00-00_s_aaaaaaaa"])
def test_a_terminal_shows_many_runs_together(
    runs: Path, became: list[str], below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(cli_watch, "sys", SimpleNamespace(stdout=terminal, executable=sys.executable))
    with pytest.raises(SystemExit):
        cli_watch.watch(runs / below, wandb=True)
    assert became == ["-m", "wandb", "leet", "run", str(runs / "wandb")]


@pytest.mark.parametrize(
    ("below", "shown"),
    [
        ("", "wandb"),
        ("wandb", "wandb"),
        ("2026-01-31", SINGLE),
        (
            "2026-01-31/12-00-00_s_aaaaaaaa",
            "wandb/offline-run-20260131_120000-11111111/run-11111111.wandb",
        ),
    ],
)
def test_elsewhere_the_newest_of_these_runs_is_told(
    runs: Path, became: list[str], below: str, shown: str
) -> None:
    """W&B's folder has the runs of other sweeps as well."""
    assert _zoo(runs / below).exit_code == 7
    assert became == ["-m", "wandb", "leet", "inspect", "--summary", str(runs / shown)]


def test_of_one_run_its_newest_part_is_shown(runs: Path, became: list[str]) -> None:
    assert _zoo(runs / "2026-01-31" / "13-00-00_b_33333333").exit_code == 7
    assert became[-1] == str(runs / SINGLE)


@pytest.mark.parametrize("below", [Path(SINGLE).parent, "wandb/latest-run"])
def test_a_folder_that_wandb_made_for_a_run_is_shown(runs: Path, became: list[str], below: str) -> None:
    assert _zoo(runs / below).exit_code == 7
    assert became[-1] == f"{runs / below}/run-33333333.wandb"


def test_a_run_that_an_agent_started_is_found_by_the_id_that_it_drew(runs: Path, became: list[str]) -> None:
    run = runs / "2026-01-31" / "13-00-00_b_33333333"
    _record(runs, "drawn123", "11")
    keep_wandb_id(run, "drawn123")
    assert _zoo(run).exit_code == 7
    assert became[-1] == f"{runs}/wandb/offline-run-20260131_110000-drawn123/run-drawn123.wandb"


def test_a_damaged_id_is_named(runs: Path) -> None:
    run = runs / "2026-01-31" / "13-00-00_b_33333333"
    (run / "wandb_id.txt").write_bytes(b"\xff\xfe")
    result = _zoo(run)
    assert result.exit_code == 2
    assert f"{run / 'wandb_id.txt'} is damaged" in " ".join(result.stderr.split())


def test_a_sweep_with_damaged_runs_is_shown_as_far_as_it_goes(
    runs: Path, tmp_path: Path, became: list[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (runs / "wandb").rename(elsewhere / "wandb")
    sweep = runs / "2026-01-31" / "12-00-00_s_aaaaaaaa"
    first, second = sorted(sweep.iterdir())
    (first / "config.yaml").write_text("[")
    (second / "config.yaml").write_text(yaml.safe_dump({"paths": {"wandb_dir": str(elsewhere)}}))
    (second / "wandb_id.txt").write_bytes(b"\xff\xfe")
    assert _zoo(sweep).exit_code == 7
    assert became[-1].startswith(str(elsewhere / "wandb"))


def test_by_default_the_runs_of_the_checkout(runs: Path, became: list[str]) -> None:
    (runs.parent / "conf").mkdir()
    (runs.parent / "train.py").touch()
    assert _zoo("--project", runs.parent).exit_code == 7
    assert became[-1] == str(runs / "wandb")


def test_runs_that_were_moved_are_found(runs: Path, became: list[str]) -> None:
    moved = runs.rename(runs.with_name("kept"))
    assert _zoo(moved / "2026-01-31").exit_code == 7
    assert became[-1] == str(moved / SINGLE)


def test_nothing_to_watch(runs: Path, tmp_path: Path, became: list[str]) -> None:
    assert "does not exist; did you mean" in _said(_zoo(tmp_path / "rums"))
    assert "is a file, not a folder" in _said(_zoo(runs / "2026-01-31/13-00-00_b_33333333/config.yaml"))
    (tmp_path / "empty").mkdir()
    assert f"there is no run in {tmp_path}/empty" in _said(_zoo(tmp_path / "empty"))
    queued = runs / "2026-01-31/12-00-00_s_aaaaaaaa/12-00-02_1_22222222"
    assert f"no run in {queued} has written anything for W&B" in _said(_zoo(queued))
    assert not became


def test_a_wandb_without_leet(runs: Path, became: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(wandb_cli.commands, "leet")
    said = _said(_zoo(runs))
    assert f"W&B {wandb.__version__} has no terminal dashboard" in said
    assert "pip install --upgrade wandb" in said
    assert not became


def test_tensorboard(runs: Path, became: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: object())
    assert "has no event files; train with logger=tensorboard" in _said(_zoo(runs, "--tensorboard"))
    events = runs / "2026-01-31" / "13-00-00_b_33333333" / "tensorboard"
    events.mkdir()
    (events / "events.out.tfevents.1.host.1.0").touch()
    assert _zoo(runs, "--tensorboard").exit_code == 7
    assert became == ["-m", "tensorboard.main", "--logdir", str(runs)]
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert "pip install 'attention-zoo[tensorboard]'" in _said(_zoo(runs, "--tensorboard"))


@pytest.mark.slow
def test_leet_reads_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its form that needs no terminal, on the folder of two finished runs."""
    from zoo.loggers.wandb import WandbLogger
    from zoo.runs.folder import create_run_folder

    for name, loss in (("first", 2.0), ("second", 1.0)):
        folder = create_run_folder(tmp_path / "2026-01-31", name)
        logger = WandbLogger(folder=folder, wandb_dir=tmp_path, project="zoo", name=name, group="scores")
        logger.better = {"val/chrf": "max"}  # as a task does
        logger.log_metrics({"train/loss": loss, "val/chrf": 10 * loss}, step=1)
        logger.finish(exit_code=0)
    command = [sys.executable, "-m", "zoo", "watch", "--wandb", str(tmp_path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in printed.splitlines()]
    assert ["run", "second", f"({folder.name[-8:]})"] in lines
    assert ["state", "finished", "(exit", "code", "0)"] in lines
    assert ["train/loss", "1"] in lines
    assert ["val/chrf.max", "10"] in lines
