"""However a run ends, its status, its exit code and its W&B run say so."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fault_table import note
from small_runs import SMALL, only_run, resume, run, start

from zoo.runs.status import State, StatusFile

pytestmark = pytest.mark.slow

WANDB = [*(option for option in SMALL if option != "logger=csv"), "logger=wandb"]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def inspect(runs: Path) -> list[list[dict[str, Any]]]:
    """The records of every W&B segment, in the order in which they were begun."""
    files = sorted(runs.glob("wandb/offline-run-*/*.wandb"), key=lambda path: path.stat().st_ctime)
    wandb = shutil.which("wandb", path=str(Path(sys.executable).parent)) or "wandb"
    read = (subprocess.check_output([wandb, "leet", "inspect", "--json", file], text=True) for file in files)
    return [[json.loads(line) for line in text.splitlines()] for text in read]


def exit_codes(records: list[dict[str, Any]]) -> list[int]:
    return [record["exit"].get("exit_code", 0) for record in records if record["type"] == "exit"]


@pytest.mark.parametrize(
    ("name", "code"), [("SIGTERM", 143), ("SIGHUP", 143), ("SIGUSR1", 143), ("SIGINT", 130)]
)
def test_asked_to_stop_in_wandb_too(runs: Path, name: str, code: int) -> None:
    ended, said = run(*WANDB, f"paths.runs_dir={runs}", fault=f"{name}@step:10")
    assert ended == code, said
    folder = only_run(runs)
    assert f"zoo resume {folder} goes on with it" in said
    (first,) = inspect(runs)
    assert exit_codes(first) == [code]
    ended, said = resume(folder)
    assert ended == 0, said
    segments = inspect(runs)
    assert [exit_codes(records) for records in segments] == [[code], [0]]
    ids = {record["run"]["run_id"] for records in segments for record in records if record["type"] == "run"}
    assert len(ids) == 1
    steps = [
        record["history"]["item"]["trainer/global_step"]
        for records in segments
        for record in records
        if record["type"] == "history"
    ]
    assert steps == sorted(steps), "no step is gone back"
    assert steps[-1] == 24


def test_an_error_is_in_the_log_with_its_place(runs: Path) -> None:
    code, said = run(*SMALL, f"paths.runs_dir={runs}", fault="raise@step:6")
    assert code == 1
    assert "RuntimeError: an accident" in said
    assert "Traceback" not in said
    folder = only_run(runs)
    status = StatusFile(folder).read()
    assert (status.state, status.exit_code, status.exception) == (
        State.FAILED,
        1,
        "RuntimeError: an accident",
    )
    assert "in strike" in (folder / "train.log").read_text()
    code, said = resume(folder)
    assert code == 0, said
    note("an exception in training", lost="the steps since the last save: at most 3, saved every 3")


def test_a_loss_that_is_no_number(runs: Path) -> None:
    code, said = run(*SMALL, f"paths.runs_dir={runs}", fault="nan@step:5")
    assert code == 1
    folder = only_run(runs)
    status = StatusFile(folder).read()
    assert status.state is State.DIVERGED
    assert "at step 6, on the batch of training items" in str(status.exception)
    last = folder / "checkpoints" / "last.ckpt"
    assert last.exists()
    code, said = resume(folder)
    assert code == 2
    assert "diverged, and would again" in said
    note("NaN loss", lost="the run; state diverged, its last finite checkpoint is kept")


def test_out_of_memory_names_the_batch(runs: Path) -> None:
    code, said = run(*SMALL, f"paths.runs_dir={runs}", fault="memory@step:2")
    assert code == 1
    assert "memory ran out on training batch 1:" in said
    assert "data.batch_tokens (now 256)" in said
    note("out of memory", lost="the steps since the last save: at most 3, saved every 3")


def test_a_second_ctrl_c_ends_at_once(runs: Path) -> None:
    process = start(*SMALL, f"paths.runs_dir={runs}", "trainer.max_epochs=100000")
    _wait_for_training(runs, process)
    os.kill(process.pid, signal.SIGSTOP)  # so that the two arrive while the step lasts
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGCONT)
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < 20:
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.01)
    process.communicate()
    assert process.returncode in (-signal.SIGINT, 130)
    assert time.monotonic() - began < 5


def test_only_one_process_runs_a_folder(runs: Path) -> None:
    process = start(*SMALL, f"paths.runs_dir={runs}", "trainer.max_epochs=100000")
    folder = _wait_for_training(runs, process)
    code, said = resume(folder)
    assert code == 2
    assert "is being run" in said
    process.terminate()
    process.communicate()
    assert process.returncode == 143


def test_nothing_is_left_running(runs: Path) -> None:
    process = start(*SMALL, "data.num_workers=2", f"paths.runs_dir={runs}", "trainer.max_epochs=100000")
    _wait_for_training(runs, process)
    group = subprocess.run(
        ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    process.terminate()
    process.communicate()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in group) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in group if Path(f"/proc/{pid}").exists()]


def test_a_changed_configuration_is_refused(runs: Path) -> None:
    code, said = run(*SMALL, f"paths.runs_dir={runs}", fault="SIGTERM@step:4")
    assert code == 143, said
    folder = only_run(runs)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("dropout: 0.3", "dropout: 0.2"))
    code, said = resume(folder)
    assert code == 2
    assert "model.dropout: was 0.3, is 0.2" in said
    assert StatusFile(folder).read().state is State.PREEMPTED


def test_a_server_that_is_not_there_loses_nothing(runs: Path) -> None:
    dead = {"WANDB_MODE": "online", "WANDB_API_KEY": "x" * 40, "WANDB_BASE_URL": "http://127.0.0.1:9"}
    code, said = run(*WANDB, f"paths.runs_dir={runs}", environment=dead)
    assert code == 0, said
    assert "W&B cannot be reached" in said
    (records,) = inspect(runs)
    assert exit_codes(records) == [0]
    note("W&B unreachable", lost="nothing: the run is logged offline")


def _wait_for_training(runs: Path, process: "subprocess.Popen[str]") -> Path:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for file in runs.glob("*/*/metrics.csv"):
            if file.stat().st_size > 2000:
                return file.parent
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no training began")
