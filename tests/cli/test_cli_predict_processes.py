"""`zoo predict --processes`: the answers of one process, and an end in every case."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_run import make_run
from typer.testing import CliRunner, Result

from zoo.cli.app import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first")


def _zoo(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["predict", *map(str, arguments)])


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Lines that take a while."""
    lines = (f"{number % 28 + 1}. März 20{number % 80 + 10}" for number in range(60_000))
    file = tmp_path / "many.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def _start(file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "zoo", "predict", "dates", "--file", str(file), "--processes", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        # A shell that starts tests in the background ignores Ctrl-C for them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _workers(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that answer, once the first lines are there."""
    assert process.stdout is not None
    assert process.stdout.readline()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == process.pid and b"spawn_main" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def _gone(numbers: list[int]) -> bool:
    end = time.monotonic() + 20
    while time.monotonic() < end and any(Path(f"/proc/{number}").exists() for number in numbers):
        time.sleep(0.1)
    return not any(Path(f"/proc/{number}").exists() for number in numbers)


def test_they_need_lines_to_share(run: Path) -> None:
    result = _zoo(run, "a sentence", "--processes", 2)
    assert result.exit_code == 2
    assert "give --file FILE" in result.stderr
    result = _zoo(run, "--score", "lines.txt", "--processes", 2, "--file", "lines.txt")
    assert result.exit_code == 2
    assert "leave the other options out" in result.stderr


@pytest.mark.slow
def test_answers_and_their_order_are_those_of_one_process(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(["b a", "", "a", *(f"{'ab ' * (1 + number % 7)}c" for number in range(20))]))
    for more in ((), ("--nbest", 2)):
        alone, shared = _zoo(run, "--file", file, *more), _zoo(run, "--file", file, "--processes", 3, *more)
        assert shared.exit_code == 0, shared.stderr
        assert shared.stdout == alone.stdout
        assert shared.stdout.count("\n") >= 23


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_one_that_is_killed_ends_the_command_with_a_message(many: Path) -> None:
    process = _start(many)
    workers = _workers(process)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "one of 2 processes ended before it had answered" in said.decode()
    assert "of 60,000 lines are done and written" in said.decode()
    assert _gone(workers)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_ctrl_c_ends_all_of_them_at_once(many: Path) -> None:
    process = _start(many)
    workers = _workers(process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=15)
    assert process.returncode == 130
    assert _gone(workers)
    assert "Traceback" not in said.decode()
