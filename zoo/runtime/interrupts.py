"""Ctrl-C where there is nothing to save: the program ends without a traceback."""

import signal
import sys
from collections.abc import Callable

_INTERRUPTED = 130  # what a shell reports after SIGINT


def end_at_once(*, script: bool) -> None:
    """Lets Ctrl-C end the process at once until `interruptible` begins, during imports.

    By default it raises an exception, which some packages take for another error during their import. Where
    interrupts are ignored, as in the background of a script, they stay ignored.

    Args:
        script: whether this process is the program; otherwise nothing is changed.
    """
    if script and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def interruptible(command: Callable[[], int]) -> int:
    """The exit code of a command, in which Ctrl-C raises an exception; 130 where that ended it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return command()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return _INTERRUPTED
