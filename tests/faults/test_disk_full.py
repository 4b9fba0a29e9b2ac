"""A disk that fills up: what was good stays, and the message says where there was no room."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fault_table import note
from small_runs import SMALL, only_run, resume, run

from zoo.runs.status import State, StatusFile


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes; only the superuser can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "none", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("free", [0, 20_000, 60_000])
def test_a_full_disk_loses_no_checkpoint(small_disk: Path, free: int) -> None:
    code, said = run(
        *SMALL, f"paths.runs_dir={small_disk}/runs", "callbacks.last.every_n_steps=3", fault="SIGTERM@step:7"
    )
    assert code == 143, said
    folder = only_run(small_disk / "runs")
    before = (folder / "checkpoints" / "last.ckpt").read_bytes()
    filler = small_disk / "filler"
    _fill(filler, free)
    code, said = resume(folder)
    assert code == (1 if free else 2), said
    assert "no space left to write" in said
    assert "Traceback" not in said
    assert said.count("the log cannot be written any more") <= 1
    kept = (folder / "checkpoints" / "last.ckpt").read_bytes()
    assert len(kept) >= len(before) * 0.9, "whole"
    assert not list(folder.rglob("*.tmp"))
    assert StatusFile(folder).read().state is (State.FAILED if free else State.PREEMPTED)
    filler.unlink()
    code, said = resume(folder)
    assert code == 0, said
    note("disk full", lost="the steps since the last save: at most 3, saved every 3")


def _fill(filler: Path, free: int) -> None:
    """Leaves about so many bytes."""
    with filler.open("wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(4096))
        file.truncate(max(0, file.tell() - free))


@pytest.mark.slow
def test_a_disk_that_cannot_be_written_is_one_line(small_disk: Path) -> None:
    code, said = run(*SMALL, f"paths.runs_dir={small_disk}/runs", fault="SIGTERM@step:7")
    assert code == 143, said
    folder = only_run(small_disk / "runs")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    code, said = resume(folder)
    assert code == 2, said
    assert "Read-only file system" in said
    assert said.count("\n") == 1
