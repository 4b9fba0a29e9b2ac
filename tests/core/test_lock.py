"""Two processes never run the same folder, and a dead one leaves nothing behind."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from zoo.core.lock import Occupied, RunLock, is_held


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.log").touch()
    return tmp_path


def test_is_held_while_somebody_is_inside(folder: Path) -> None:
    assert is_held(folder) is False
    with RunLock(folder):
        assert is_held(folder) is True
        with pytest.raises(Occupied, match=str(folder)), RunLock(folder):
            pass
    assert is_held(folder) is False


def test_a_look_does_not_keep_anybody_out(folder: Path) -> None:
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            is_held(folder)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(50):
            with RunLock(folder):
                pass
    finally:
        stop.set()
        watcher.join()


def test_a_killed_process_frees_it(folder: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from zoo.core.lock import RunLock\n"
        "with RunLock(Path(sys.argv[1])): print('in', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    assert is_held(folder) is True
    holder.kill()
    holder.wait()
    holder.stdout.close()
    deadline = time.monotonic() + 5
    while is_held(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_held(folder) is False


def test_nothing_is_known_of_a_run_that_never_began(tmp_path: Path) -> None:
    assert is_held(tmp_path) is None


def test_an_edited_configuration_frees_nothing(folder: Path) -> None:
    """Editors write a new file and give it the old name."""
    config = folder / "config.yaml"
    config.write_text("seed: 1\n")
    with RunLock(folder):
        (folder / "new").write_text("seed: 1\n")
        (folder / "new").replace(config)
        assert is_held(folder) is True
