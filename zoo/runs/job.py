"""Runs a frozen configuration in a process of its own."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from zoo.runs.status import State, StatusFile

_SECONDS_TO_END = 30


def run_frozen(script: Path, config: Path) -> int:
    """Runs `script --frozen config` and waits for it.

    A fresh process has no state of the job before it, and its subprocesses start again from the same file. It
    leads a process group, of which nothing is left when this returns.

    Args:
        script: train.py.
        config: config.yaml in the run's folder.

    Returns:
        The exit code; 128 + n when signal n ended it.
    """
    command = [sys.executable, str(script), "--frozen", str(config.resolve())]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait()
    except BaseException:  # Ctrl-C reaches this process only: pass it on
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_END)
        raise
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        code = 128 - code if code < 0 else code
        _close(config.parent, code)
    return code


def _close(folder: Path, code: int) -> None:
    """Records the end of a job that was killed, and so could not do it itself."""
    status = StatusFile(folder)
    if status.read().end is None:
        killed = RuntimeError(f"the process ended with exit code {code} and said nothing")
        status.end(State.FAILED, exit_code=code or 1, exception=killed)
