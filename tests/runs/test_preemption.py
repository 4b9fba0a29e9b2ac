"""Being asked to stop: at once where nothing is lost, later where something must be finished."""

import os
import signal
import subprocess
import sys

import pytest

from zoo.runs.preemption import Preempted, Preemption


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGUSR1", 143), ("SIGINT", 130)])
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
from zoo.runs.preemption import Preemption
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
