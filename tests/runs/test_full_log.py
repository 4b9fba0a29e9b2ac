"""What a run says where nothing can be written."""

import logging
from contextlib import suppress
from pathlib import Path

import pytest

from zoo.runs.report import LogFile, log_to

pytestmark = pytest.mark.usefixtures("logging_kept")


def test_a_full_disk_is_said_once_and_the_terminal_hears_everything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to(Path("/dev/full"))
    library = logging.FileHandler("/dev/full")  # as W&B has one
    logging.getLogger("library").addHandler(library)
    for number in range(5):
        logging.getLogger("library").warning("line %d", number)
    with suppress(OSError):
        library.close()
    logging.getLogger("library").handlers.clear()
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("line ")] == [f"line {number}" for number in range(5)]
    assert [line for line in lines if not line.startswith("line ")] == [
        "the log cannot be written any more: /dev/full: No space left on device"
    ]


def test_a_mistake_in_our_code_keeps_its_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = LogFile(tmp_path / "train.log")
    logging.raiseExceptions = False
    handler.handle(logging.makeLogRecord({"msg": "%d", "args": ("x",)}))
    handler.close()
    assert "TypeError" in capsys.readouterr().err
