"""`zoo sync` sends what was recorded offline: afterwards, while it is recorded, and never unasked."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from zoo.cli.app import main
from zoo.runs import syncing
from zoo.runs.status import State, StatusFile

sys.path.insert(0, str(Path(__file__).parents[1] / "loggers"))
from wandb_server import WandbServer, wandb_server

RECORDED = """
import sys, time
from pathlib import Path
from zoo.loggers.wandb import WandbLogger
folder, steps, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
logger = WandbLogger(folder=folder, wandb_dir=folder.parents[1], project="zoo", name="run", group="sweep")
for step in range(steps):
    logger.log_metrics({"train/loss": 1.0 / (step + 1)}, step=step + 1)
    time.sleep(seconds)
logger.finish(exit_code=0)
"""


def run_of(runs: Path, identity: str, state: State) -> Path:
    folder = runs / f"12-00-00_run_{identity}"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump({"paths": {"wandb_dir": str(runs.parent)}}))
    status = StatusFile(folder)
    status.start((), State.RUNNING)
    if state != State.RUNNING:
        status.end(state, exit_code=0)
    return folder


def record(folder: Path, steps: int, seconds: float = 0.0) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "WANDB_MODE": "offline"}
    return subprocess.Popen(
        [sys.executable, "-c", RECORDED, str(folder), str(steps), str(seconds)], env=environment
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WandbServer]:
    with wandb_server() as running:
        monkeypatch.setenv("WANDB_BASE_URL", running.address)
        monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
        monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)  # W&B's tool writes logs there
        yield running


def losses(server: WandbServer, identity: str) -> list[float]:
    return [json.loads(line)["train/loss"] for line in server.files[identity]["wandb-history.jsonl"]]


def zoo(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_only_the_runs_of_the_folder_are_sent_whatever_the_mode(
    server: WandbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    first = run_of(tmp_path / "runs", "11111111", State.FINISHED)
    other = run_of(tmp_path / "runs", "22222222", State.FINISHED)
    for folder in (first, other):
        assert record(folder, 3).wait() == 0
    assert zoo("sync", first, "--dry-run").exit_code == 0
    assert not server.files
    assert zoo("sync", first).exit_code == 0
    assert list(server.files) == ["11111111"]
    assert losses(server, "11111111") == pytest.approx([1.0, 1 / 2, 1 / 3])


@pytest.mark.slow
def test_a_run_is_sent_while_it_is_recorded_and_one_that_begins_later(
    server: WandbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "_SECONDS_BETWEEN_LOOKS", 0.5)
    runs = tmp_path / "runs"
    first, second = (run_of(runs, identity, State.RUNNING) for identity in ("11111111", "22222222"))
    recording = [record(first, 60, 0.5)]
    command = [sys.executable, "-m", "zoo", "sync", "--live", str(runs)]
    sending = subprocess.Popen(command)
    seen: list[int] = []
    while recording[0].poll() is None:
        time.sleep(0.5)
        seen.append(len(server.files["11111111"]["wandb-history.jsonl"]))
        if len(recording) == 1 and seen[-1] > 0:
            recording.append(record(second, 2))
    assert any(0 < count < 60 for count in seen), "something came before the end"
    assert recording[1].wait() == 0
    for folder in (first, second):
        StatusFile(folder).end(State.FINISHED, exit_code=0)
    assert sending.wait(60) == 0
    assert losses(server, "11111111") == pytest.approx([1.0 / (step + 1) for step in range(60)])
    assert losses(server, "22222222") == pytest.approx([1.0, 1 / 2])


def test_what_cannot_be_sent_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
    missing = zoo("sync", tmp_path / "runs")
    assert missing.exit_code == 2
    assert missing.stderr.startswith(f"error: {tmp_path / 'runs'} does not exist"), "and not of watching"
    run = run_of(tmp_path / "runs", "11111111", State.FINISHED)
    nothing = zoo("sync", run)
    assert nothing.exit_code == 2
    assert "no run there has recorded anything offline" in nothing.stderr
    monkeypatch.delenv("WANDB_API_KEY")
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    assert "nobody is logged in to W&B: type `wandb login`" in zoo("sync", run).stderr
