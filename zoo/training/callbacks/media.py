"""Images and tables for the loggers that can show them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from lightning.pytorch.loggers import Logger


def log_image(loggers: Iterable[Logger], key: str, image: Path, step: int) -> None:
    """Shows a PNG file in every logger with Lightning's `log_image`, under one key, with its history."""
    for logger in loggers:
        if hasattr(logger, "log_image"):
            logger.log_image(key, [str(image)], step=step)


def log_table(
    loggers: Iterable[Logger], key: str, columns: Sequence[str], rows: Sequence[Sequence[str]], step: int
) -> None:
    """Shows a table in every logger with Lightning's `log_table`, under one key."""
    for logger in loggers:
        if hasattr(logger, "log_table"):
            logger.log_table(key, columns=list(columns), data=[list(row) for row in rows], step=step)
