"""What a run says while it goes on."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_warnings_that_mean_nothing_here_are_not_logged(tmp_path: Path) -> None:
    """In a process of its own: logging is set up for all of it."""
    code = """
import sys, warnings
from pathlib import Path
from zoo.runs.report import log_to
log_to(Path(sys.argv[1]))
warnings.warn("Found 39 module(s) in eval mode at the start of training. This may lead to ...")
warnings.warn("something new")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "log")], check=True, cwd=PROJECT)
    said = (tmp_path / "log").read_text(encoding="utf-8")
    assert "something new" in said
    assert "eval mode" not in said
