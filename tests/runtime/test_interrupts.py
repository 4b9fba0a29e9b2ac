"""Ctrl-C before there is anything to save ends a program without a traceback."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from zoo.runtime.interrupts import end_at_once, interruptible

PROJECT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_only_a_program_ends_at_once_and_what_is_ignored_stays_so() -> None:
    end_at_once(script=False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    end_at_once(script=True)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_at_once(script=True)
    assert interruptible(lambda: 0) == 0
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_an_interrupt_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    end_at_once(script=True)
    assert interruptible(lambda: 3) == 3

    def interrupted() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("nothing came")

    assert interruptible(interrupted) == 130
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.parametrize("program", ["train", "zoo.__main__"])
def test_ctrl_c_during_imports_says_nothing(program: str, tmp_path: Path) -> None:
    """A package that interrupts while it is imported, and takes the exception for another error."""
    for name in ("hydra", "typer"):
        (tmp_path / f"{name}.py").write_text(
            "import os, signal, time\n"
            "try:\n    os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\n"
            "except BaseException as error:\n    raise ImportError('broken') from error\n"
        )
    done = subprocess.run(
        [sys.executable, "-m", program],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PROJECT}"},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == -signal.SIGINT, done.stderr
    assert done.stderr.removeprefix("starting: loading PyTorch takes some seconds\n") == ""
