"""The table of jobs that `check=true` prints."""

import sys
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

import train


def test_shows_what_distinguishes_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = "either=(attention=dot,model.hidden_size=8),(attention=additive,model.hidden_size=4)"
    line = ["data=reverse", "trainer=debug", "model.embedding_size=8", "check=true", "-m", pairs, "seed=1,2"]
    monkeypatch.setattr(sys, "argv", ["train.py", *line, f"paths.runs_dir={tmp_path}/runs"])
    try:
        assert train.main() == 0
    finally:
        GlobalHydra.instance().clear()
    said = capsys.readouterr().out
    head, *rows = [
        line.split("┃" if "┃" in line else "│")[1:-1]
        for line in said.splitlines()
        if "┃" in line or "│" in line
    ]
    assert [cell.strip() for cell in head[:-1]] == ["job", "seed", "attention", "model.hidden_size"]
    cells = [[cell.strip() for cell in row[:-1]] for row in rows]
    assert cells == [
        ["0", "1", "dot", "8"],
        ["1", "2", "dot", "8"],
        ["2", "1", "additive", "4"],
        ["3", "2", "additive", "4"],
    ]
    assert all(int(row[-1].replace(",", "")) > 0 for row in rows)
    assert "all 4 configurations are fine" in said
    assert not (tmp_path / "runs").exists()
