"""status.json: what is written, and what a reader makes of it."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.core.lock import RunLock
from zoo.runs.status import Progress, State, StatusFile


def test_a_run_from_start_to_end(tmp_path: Path) -> None:
    status = StatusFile(tmp_path)
    status.start(["seed=2", "attention=dot"])
    started = status.read()
    assert started.state is State.RUNNING
    assert (started.host, started.pid) == (socket.gethostname(), os.getpid())
    assert started.overrides == ["seed=2", "attention=dot"]
    assert started.end is started.exit_code is started.exception is None

    status.end(State.FAILED, exit_code=1, exception=RuntimeError("no more disk"))
    ended = status.read()
    assert (ended.state, ended.exit_code) == (State.FAILED, 1)
    assert ended.exception == "RuntimeError: no more disk"
    assert ended.start == started.start
    assert ended.end is not None
    assert ended.end >= ended.start


def test_the_file_holds_exactly_the_agreed_fields(tmp_path: Path) -> None:
    StatusFile(tmp_path).start()
    written = json.loads((tmp_path / "status.json").read_text())
    assert set(written) == {
        *("state", "exit_code", "exception", "start", "end", "overrides", "host", "pid", "heartbeat"),
        *("progress", "tests"),
    }
    assert written["state"] == "running"


def test_a_heartbeat_changes_nothing_else(tmp_path: Path) -> None:
    status = StatusFile(tmp_path)
    status.start(["a=b"])
    values = json.loads(status.path.read_text())
    status.path.write_text(json.dumps({**values, "heartbeat": "2000-01-01T00:00:00+00:00"}))
    status.beat()
    after = json.loads(status.path.read_text())
    assert after.pop("heartbeat") > "2020"
    values.pop("heartbeat")
    assert after == values


def _dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_running_process_that_is_gone_reads_killed(tmp_path: Path) -> None:
    status = StatusFile(tmp_path)
    status.start()
    values = json.loads(status.path.read_text()) | {"pid": _dead_process()}
    status.path.write_text(json.dumps(values))
    assert status.read().state is State.KILLED
    assert json.loads(status.path.read_text())["state"] == "running", "reading must not write"

    status.path.write_text(json.dumps(values | {"state": "finished"}))
    assert status.read().state is State.FINISHED, "only a running one can be killed"
    status.path.write_text(json.dumps(values | {"host": "elsewhere"}))
    assert status.read().state is State.RUNNING, "nothing is known of another host's processes"
    long_ago = {"host": "elsewhere", "heartbeat": "2000-01-01T00:00:00+00:00"}
    status.path.write_text(json.dumps(values | long_ago))
    assert status.read().state is State.KILLED, "but its silence says enough"


def test_a_living_process_that_runs_something_else_is_not_this_run(tmp_path: Path) -> None:
    """After a reboot another program may have the process number of the run."""
    status = StatusFile(tmp_path)
    with RunLock(tmp_path):
        status.start()
        assert status.read().state is State.RUNNING
    assert status.read().state is State.KILLED


def test_progress_is_kept_by_heartbeats_without(tmp_path: Path) -> None:
    status = StatusFile(tmp_path)
    status.start()
    progress = Progress(step=3, steps=8, seconds_left=2.5, metric="val/bleu", best=1.5)
    status.beat(progress)
    status.beat()
    assert status.read().progress == progress


def test_a_long_exception_is_cut(tmp_path: Path) -> None:
    status = StatusFile(tmp_path)
    status.start()
    status.end(State.FAILED, exit_code=1, exception=ValueError("x" * 10**5))
    assert len(status.read().exception or "") == 2000


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"status\.json does not exist"):
        StatusFile(tmp_path).read()
    for content in ("{", "[]", '{"state": "dreaming"}'):
        (tmp_path / "status.json").write_text(content)
        with pytest.raises(ValueError, match=r"status\.json is not a run's status"):
            StatusFile(tmp_path).read()
