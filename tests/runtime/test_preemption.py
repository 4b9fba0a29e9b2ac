"""Being asked to stop: at once where nothing is lost, later where something must be finished."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from zoo.runtime.preemption import Preempted, Preemption


@pytest.fixture(autouse=True)
def hangup_has_its_default() -> Iterator[None]:
    """Somebody may run the tests with `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("number", "code"), [("SIGTERM", 143), ("SIGUSR1", 143), ("SIGHUP", 143), ("SIGINT", 130)]
)
def test_a_signal_ends_what_is_running(number: str, code: int) -> None:
    with pytest.raises(Preempted, match=f"asked to stop by {number}") as raised, Preemption():
        signal.raise_signal(getattr(signal, number))
    assert raised.value.exit_code == code


def test_no_except_clause_for_errors_swallows_it() -> None:
    assert not issubclass(Preempted, Exception)


def test_a_deferred_signal_is_noted_and_the_first_counts() -> None:
    with Preemption() as preemption:
        preemption.deferred = True
        assert preemption.received is None
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert preemption.received == signal.SIGTERM


def test_afterwards_the_handlers_are_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    preemption = Preemption()
    with preemption:
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
    preemption.install()
    assert signal.getsignal(signal.SIGTERM) == before, "outside it changes nothing"


def test_it_takes_the_signals_back() -> None:
    with Preemption() as preemption:
        preemption.deferred = True
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        preemption.install()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert preemption.received == signal.SIGUSR1


def test_a_second_ctrl_c_ends_the_process_whatever_it_does() -> None:
    code = """
import os, signal, time
from zoo.runtime.preemption import Preemption
with Preemption() as preemption:
    preemption.deferred = True
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    print("still here", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "still here\n"
    assert done.returncode == -signal.SIGINT


def test_nohup_keeps_sighup_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Preemption() as preemption:
        preemption.install()
        os.kill(os.getpid(), signal.SIGHUP)
        assert preemption.received is None
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_a_closed_terminal_keeps_nobody_from_finishing() -> None:
    """The terminal is a real one, whose other end is closed: the system then sends SIGHUP."""
    code = """
import os, sys, time
from zoo.runtime.preemption import Preemption
os.login_tty(int(sys.argv[1]))
with Preemption() as preemption:
    preemption.deferred = True
    print("begun", flush=True)
    deadline = time.monotonic() + 30
    while preemption.received is None and time.monotonic() < deadline:
        time.sleep(0.01)
    print("this goes nowhere", flush=True)
    print("and this", file=sys.stderr, flush=True)
sys.exit(40 + preemption.received)
"""
    own, terminal = os.openpty()
    with subprocess.Popen([sys.executable, "-c", code, str(terminal)], pass_fds=[terminal]) as process:
        os.close(terminal)
        assert _line(own) == b"begun\r\n"
        os.close(own)
    assert process.returncode == 40 + signal.SIGHUP


def test_a_terminal_that_is_open_is_still_written_to() -> None:
    """After `kill -HUP`, for example."""
    code = """
import os, signal, sys
from zoo.runtime.preemption import Preemption
with Preemption() as preemption:
    preemption.deferred = True
    os.kill(os.getpid(), signal.SIGHUP)
    print("begun", flush=True)
"""
    own, terminal = os.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stdout=terminal):
        os.close(terminal)
        assert _line(own) == b"begun\r\n"
    os.close(own)


def _line(terminal: int) -> bytes:
    """The next line, which may come in pieces."""
    said = b""
    while not said.endswith(b"\n"):
        said += os.read(terminal, 100)
    return said
