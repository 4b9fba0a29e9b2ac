"""The first line that a command prints, before imports that take seconds."""

import os
import sys

_SHOWS = ("--help", "-h", "--hydra-help", "--cfg", "-c", "--info", "-i", "--shell-completion", "-sc")
"""Options that print something for another program, or something to read alone."""
_FROZEN = "--frozen"
"""What `train.py` starts its own processes with; at a terminal it is `zoo resume`."""


def say_that_it_starts(*, script: bool) -> None:
    """Says on standard error that PyTorch is being loaded, so that nobody thinks that nothing happens.

    Args:
        script: whether this process is the program; otherwise nothing is said.
    """
    words = sys.argv[1:]
    if not script or any(word.startswith(_SHOWS) for word in words):
        return
    if "LOCAL_RANK" in os.environ or (_FROZEN in words and not sys.stderr.isatty()):
        return  # one of several processes, or a job whose words go to a file
    print("starting: loading PyTorch takes some seconds", file=sys.stderr, flush=True)
