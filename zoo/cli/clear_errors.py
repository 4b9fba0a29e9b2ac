"""How commands fail."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from zoo.core.problems import ConfigError


@contextmanager
def clear_errors() -> Iterator[None]:
    """Bad input is one line, or one for each problem of a configuration, and exit code 2, not a traceback."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ConfigError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from error
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        raise typer.Exit(2) from error
