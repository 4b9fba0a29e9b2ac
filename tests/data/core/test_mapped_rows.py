"""Rows on disk: made once, whole or not at all."""

import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import data.core.mapped_rows
from data.core.mapped_rows import Chunk, RowMaker, mapped_rows

ROOT = Path(__file__).parents[3]
TOTAL, SHAPE = 23, (3, 2)
ROWS = np.arange(TOTAL * 6, dtype=np.float16).reshape(TOTAL, *SHAPE)


class Maker:
    """Makes five rows at a time, of which the 7th and the 21st are broken; may be killed before a chunk."""

    def __init__(self, killed_before: int = TOTAL) -> None:
        self.killed_before, self.started = killed_before, list[int]()

    def chunks(self, first: int) -> Iterator[Chunk]:
        self.started.append(first)
        for start in range(first, TOTAL, 5):
            if start >= self.killed_before:
                raise KeyboardInterrupt
            rows = ROWS[start : start + 5].copy()
            broken = {row - start: f"row {row}" for row in (7, 21) if start <= row < start + len(rows)}
            rows[list(broken)] = 0
            yield Chunk(rows, broken)

    @property
    def rows(self) -> RowMaker:
        return RowMaker(TOTAL, SHAPE, np.dtype(np.float16), self.chunks, "making rows")


def assert_whole(folder: Path, maker: Maker | None = None) -> None:
    made = mapped_rows(folder, (maker or Maker()).rows)
    expected = ROWS.copy()
    expected[[7, 21]] = 0
    assert (made[np.arange(TOTAL)] == expected).all()
    assert made.broken == {7: "row 7", 21: "row 21"}
    assert len(made) == TOTAL
    assert [path.name for path in folder.parent.iterdir() if not path.name.endswith(".lock")] == [folder.name]


def test_rows_are_made_once(tmp_path: Path) -> None:
    maker = Maker()
    assert_whole(tmp_path / "a" / "rows", maker)
    assert_whole(tmp_path / "a" / "rows", maker)
    assert maker.started == [0]


@pytest.mark.parametrize("seconds", [0.0, 1000.0])
def test_what_was_stopped_goes_on_behind_what_is_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(data.core.mapped_rows, "_SECONDS_AT_RISK", seconds)
    folder = tmp_path / "rows"
    for killed in (11, 16):
        maker = Maker(killed)
        with pytest.raises(KeyboardInterrupt):
            mapped_rows(folder, maker.rows)
        assert not folder.exists()
    assert maker.started == [0 if seconds else 15]
    with (folder.with_name(".making-rows") / "rows.npy").open("ab") as file:
        file.write(b"half a row")
    last = Maker()
    assert_whole(folder, last)
    assert last.started == [0 if seconds else 20]


PROGRAM = """
import os, re, signal, sys
from pathlib import Path
import numpy as np
from data.core.mapped_rows import Chunk, RowMaker, mapped_rows

def chunks(first):
    for row in range(first, 64):
        if row == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield Chunk(np.full((1, 2**20), row, np.uint8), {})

def most():  # not ru_maxrss, which counts the parent's as well
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

before = most()
mapped_rows(Path(sys.argv[1]), RowMaker(64, (2**20,), np.dtype(np.uint8), chunks, "making rows"))
print((most() - before) // 1024)
"""
"""Makes 64 rows of a megabyte, is killed before one of them, and says how much memory it took, in MB."""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_process_that_was_killed_leaves_nothing_in_the_way_and_rows_need_no_memory(tmp_path: Path) -> None:
    folder = tmp_path / "rows"

    def made(killed_before: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, str(folder), str(killed_before)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)

    assert made(40).returncode == -signal.SIGKILL
    assert not folder.exists()
    again = made(64)
    assert again.returncode == 0, again.stderr
    assert int(again.stdout) < 32
    assert (np.load(folder / "rows.npy", mmap_mode="r")[:, -1] == np.arange(64)).all()


def damage_rows(folder: Path) -> None:
    (folder / "rows.npy").write_bytes((folder / "rows.npy").read_bytes()[:-1])


def damage_list(folder: Path) -> None:
    (folder / "summary.json").write_text('{"broken": []}', encoding="utf-8")


def damage_summary(folder: Path) -> None:
    (folder / "summary.json").write_text('{"broken"')


def empty_rows(folder: Path) -> None:
    (folder / "rows.npy").write_bytes(b"")


def damage_kind(folder: Path) -> None:
    (folder / "summary.json").write_text("[]")


def damage_other(folder: Path) -> None:
    np.save(folder / "rows.npy", ROWS[:5])


@pytest.mark.parametrize(
    "damage",
    [damage_rows, damage_summary, damage_list, damage_other, empty_rows, damage_kind, shutil.rmtree],
)
def test_what_is_damaged_is_made_anew(tmp_path: Path, damage: Any) -> None:
    assert_whole(tmp_path / "rows")
    damage(tmp_path / "rows")
    assert_whole(tmp_path / "rows")


@pytest.mark.parametrize(
    ("name", "content"), [("progress.json", '{"rows": 10'), ("progress.json", "[]"), ("rows.npy", "")]
)
def test_damaged_progress_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    monkeypatch.setattr(data.core.mapped_rows, "_SECONDS_AT_RISK", 0.0)
    with pytest.raises(KeyboardInterrupt):
        mapped_rows(tmp_path / "rows", Maker(11).rows)
    (tmp_path / ".making-rows" / name).write_text(content)
    assert_whole(tmp_path / "rows")


def test_free_space_is_looked_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = Maker()
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=TOTAL * 12 - 1))
        with pytest.raises(RuntimeError, match=r"needs up to 276 bytes below .* 275 bytes are free"):
            mapped_rows(tmp_path / "rows", maker.rows)
    assert not maker.started
    assert_whole(tmp_path / "rows")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError, match=r"cannot write below .*file"):
        mapped_rows(tmp_path / "file" / "rows", Maker().rows)


def test_other_processes_are_sent_the_path(tmp_path: Path) -> None:
    made = mapped_rows(tmp_path / "rows", Maker().rows)
    sent = pickle.dumps(made)
    assert ROWS[4].tobytes() not in sent
    assert (pickle.loads(sent)[np.array([4, 2])] == ROWS[[4, 2]]).all()
