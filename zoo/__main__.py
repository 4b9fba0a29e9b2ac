"""The command `zoo`, also as `python -m zoo`: what must be settled before anything heavy is imported."""

import io
import sys

from zoo.runtime.interrupts import end_at_once, interruptible


def main() -> None:
    """Runs the command and ends the process with its exit code."""
    end_at_once(script=True)
    from zoo.cli.app import main as command

    # What is written is UTF-8, as is what is read: also where the locale knows nothing but ASCII.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(encoding="utf-8")
    sys.exit(interruptible(command))


if __name__ == "__main__":
    main()
