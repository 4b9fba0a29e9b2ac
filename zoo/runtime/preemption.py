"""Requests to stop: SIGTERM, SIGUSR1 (sent by SLURM), SIGHUP (the terminal was closed) and Ctrl-C."""

import os
import signal
import stat
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGUSR1: 143, signal.SIGHUP: 143}


class Preempted(BaseException):
    """This process was asked to stop; no `except Exception` catches it.

    Attributes:
        exit_code: 130 after Ctrl-C, else 143, as a shell expects.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"asked to stop by {signal.Signals(number).name}")
        self.exit_code = _CODES[signal.Signals(number)]


class Preemption:
    """A context in which the signals end the run in order.

    A signal raises `Preempted` at once; while `deferred` is set it is only kept in `received`, and the code
    that set it raises. A second Ctrl-C ends the process at once. SIGHUP stays ignored where it was ignored
    before, as by `nohup`.

    Attributes:
        received: the first signal; None before.
        deferred: whether signals are only kept.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.deferred = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Preemption":
        self.received, self.deferred = None, False
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.getsignal(number) for number in _CODES}
            self._before = {
                number: handler
                for number, handler in before.items()
                if number != signal.SIGHUP or handler != signal.SIG_IGN
            }
        self.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def install(self) -> None:
        """Installs the handlers, again after Lightning has installed its own for a stage.

        Outside the context, and on any but the main thread, nothing is changed.
        """
        for number in self._before:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_closed_terminal()
        if number == signal.SIGINT and self.received == signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if self.received is not None:
            return
        self.received = number
        if not self.deferred:
            self.deferred = True  # on the way out no second one interrupts
            raise Preempted(number)


def leave_closed_terminal() -> None:
    """Redirects standard output and standard error to nowhere where their terminal is closed.

    Otherwise a write, such as that of a progress bar, would fail before the run is saved.
    """
    for descriptor in (1, 2):
        with suppress(OSError):  # one that is closed
            device = stat.S_ISCHR(os.fstat(descriptor).st_mode)
            if device and not os.isatty(descriptor):  # as a terminal that was closed says of itself
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)


PREEMPTION = Preemption()
"""The one instance of this process."""
