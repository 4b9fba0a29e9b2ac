"""Something is printed before imports that take seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


def said(tmp_path: Path, *line: str, **variables: str) -> str:
    """What train.py prints until it imports PyTorch, which ends it here."""
    (tmp_path / "torch.py").write_text("raise SystemExit('loading')")
    done = subprocess.run(
        [sys.executable, str(PROJECT / "train.py"), *line],
        env={"PYTHONPATH": f"{tmp_path}:{PROJECT}", **variables},
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""
    return done.stderr.removesuffix("loading\n").strip()


def test_a_training_says_that_it_starts(tmp_path: Path) -> None:
    assert said(tmp_path, "experiment=reverse").startswith("starting: ")


@pytest.mark.parametrize("line", ["--help", "--cfg job", "-c job", "--frozen config.yaml"])
def test_what_others_read_has_no_line_more(tmp_path: Path, line: str) -> None:
    assert said(tmp_path, *line.split()) == ""


def test_one_of_several_processes_says_nothing(tmp_path: Path) -> None:
    assert said(tmp_path, "experiment=reverse", LOCAL_RANK="1") == ""
