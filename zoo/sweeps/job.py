"""A job of a sweep: a frozen configuration, run in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from zoo.runs.boundary import require_own
from zoo.runs.frozen import FILE

LOG = "train.log"


def command(script: Path, folder: Path, *, resume: bool) -> list[str]:
    """What runs the configuration in a run's folder: `python train.py --frozen FOLDER/config.yaml`."""
    frozen = [sys.executable, str(script), "--frozen", str(folder.resolve() / FILE)]
    return [*frozen, "--resume"] if resume else frozen


class JobProcess:
    """A job in a process of its own, from `start` on.

    A fresh process has no state of the job before it, and its subprocesses start again from the same file.
    It leads a session of its own: a Ctrl-C at the terminal does not reach it, and what it leaves behind is
    found. All that it says goes to the end of train.log.

    Args:
        script: train.py.
        folder: the run's.
        environment: what differs from this process's environment; None takes a variable away.
        inherited: open files that live as long as the job, its GPU lease.
        resume: continue what the folder holds.
    """

    def __init__(
        self,
        script: Path,
        folder: Path,
        *,
        environment: Mapping[str, str | None],
        inherited: Sequence[int] = (),
        resume: bool = False,
    ) -> None:
        self._folder, self._environment, self._inherited = folder, environment, inherited
        self._command = command(script, folder, resume=resume)
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None

    def start(self) -> "JobProcess":
        """Starts the process, and returns the job.

        Raises:
            LeadsOutside: a link leads out of the run's folder.
            OSError: the folder cannot be used.
        """
        require_own(self._folder)
        variables = {**os.environ, **self._environment}
        with (self._folder / LOG).open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in variables.items() if value is not None},
                start_new_session=True,
                pass_fds=self._inherited,
            )
        return self

    @property
    def pid(self) -> int:
        """Of its first process."""
        assert self._process is not None, "it was not started"
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, 128 + n when signal n ended it; None while it runs.

        Once there is one, nothing that the job started is left.
        """
        # It is looked at without being reaped: until then no other process can come by its number.
        if self._code is None and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self.close()
        return self._code

    def send(self, number: int) -> None:
        """Sends a signal to the job's first process, which tells the others."""
        if self._code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends the job and all that it started, at once."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kills what still runs, and waits for its end."""
        self.kill()
        assert self._process is not None, "it was not started"
        code = self._process.wait()
        self._code = 128 - code if code < 0 else code
