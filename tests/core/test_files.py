"""What a user asks for is written where it was asked for: through links, into devices and pipes."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from zoo.core.files import DiskFull, require_place, write_where_asked


def test_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "deep" / "table.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    for content in (b"first", b"second"):  # the first time it leads to nothing
        write_where_asked(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_device_and_a_pipe_take_what_is_written(tmp_path: Path) -> None:
    write_where_asked(Path("/dev/null"), b"nothing")
    assert Path("/dev/null").is_char_device()
    link = tmp_path / "null.csv"
    link.symlink_to("/dev/null")
    write_where_asked(link, b"nothing")
    assert link.is_symlink()
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_where_asked(pipe, b"table")
    reader.join(timeout=10)
    assert read == [b"table"]


def test_a_full_device_and_a_folder_are_said(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="no space left to write /dev/full"):
        write_where_asked(Path("/dev/full"), b"table")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        write_where_asked(tmp_path, b"table")


def test_what_goes_to_the_standard_output_comes_behind_what_was_printed(tmp_path: Path) -> None:
    """Also where that is a file, which writing anew would cut off."""
    code = "from zoo.core.files import *; print('one'); write_where_asked(Path('/dev/stdout'), b'two')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "one\ntwo"


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / f"{'a' * 250}.png"  # the name is as long as a name may be, so nothing is put behind it
    with pytest.raises(OSError, match="name too long") as caught:
        write_where_asked(path, b"picture")
    assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def test_a_place_where_nothing_can_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    for free in (file, tmp_path / "new" / "page.html", Path("/dev/null")):
        require_place(free)
    file.touch()
    require_place(file)
    with pytest.raises(NotADirectoryError, match=r"page\.html is no folder"):
        require_place(file / "page.html")
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        require_place(tmp_path)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="is read-only"):
        require_place(file)
