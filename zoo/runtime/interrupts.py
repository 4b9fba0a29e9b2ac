"""Ctrl-C where nothing is to be saved: the program ends, without a traceback."""

import signal
import sys
from collections.abc import Callable

_INTERRUPTED = 130  # what a shell reports after SIGINT


def end_at_once(*, script: bool) -> None:
    """Until `interruptible` begins, Ctrl-C ends the process as it ends any other: for the time of imports.

    Python's own way is an exception in the middle of one, which some packages take for another error. Where
    interrupts are ignored, as in the background of a script, they stay so.

    Args:
        script: whether this process is the program; where it is only imported, nothing is changed.
    """
    if script and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def interruptible(command: Callable[[], int]) -> int:
    """Runs a command, in which Ctrl-C is an exception again; one that nobody wanted ends it.

    Args:
        command: gives its exit code.

    Returns:
        The exit code; 130 after Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return command()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return _INTERRUPTED
