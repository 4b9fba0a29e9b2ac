"""Pictures and tables for whichever loggers can show them; the others are skipped."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from lightning.pytorch.loggers import Logger


def log_image(loggers: Iterable[Logger], key: str, image: Path, step: int) -> None:
    """Shows a picture under a fixed key, in every logger that has Lightning's `log_image`.

    Args:
        loggers: the trainer's, any or none.
        key: always the same for the same kind of picture, so that a dashboard shows its history.
        image: the PNG file.
        step: the trainer's global step.
    """
    for logger in loggers:
        if hasattr(logger, "log_image"):
            logger.log_image(key, [str(image)], step=step)


def log_table(
    loggers: Iterable[Logger], key: str, columns: Sequence[str], rows: Sequence[Sequence[str]], step: int
) -> None:
    """Shows a table under a fixed key. Args: as `log_image`, and the table's columns and rows."""
    for logger in loggers:
        if hasattr(logger, "log_table"):
            logger.log_table(key, columns=list(columns), data=[list(row) for row in rows], step=step)
