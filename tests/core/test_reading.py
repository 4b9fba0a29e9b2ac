"""Files that anyone may have made: each bad one is one line within a second, whatever it holds."""

import gzip
import json
import os
import socket
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from zoo.core import reading
from zoo.core.reading import Unreadable, leaves, read_json, read_rows, read_text, read_yaml, unpacked_lines

READERS: dict[str, Callable[[Path], Any]] = {
    "text": read_text,
    "JSON": read_json,
    "YAML": read_yaml,
    "table": lambda path: list(read_rows(path)),
    "lines": lambda path: list(unpacked_lines(path)),
}
LAUGHS = "\n".join(
    ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20))]
)


def _refused(read: Callable[[Path], Any], path: Path) -> str:
    with pytest.raises(Unreadable) as caught:
        read(path)
    message = str(caught.value)
    assert message == f"{path} {caught.value.reason}"
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.hostile("no file")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("link", [False, True])
def test_only_regular_files_are_opened(tmp_path: Path, reader: str, link: bool) -> None:
    """Nobody writes into this pipe: opening it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        (tmp_path / "short").symlink_to(tmp_path)  # names of sockets are short
        os.chdir(tmp_path)
        server.bind("socket")
    places = {tmp_path / "pipe": "named pipe", tmp_path / "socket": "socket", tmp_path: "folder"}
    for place, kind in {**places, Path("/dev/zero"): "device"}.items():
        path = place
        if link:
            path = tmp_path / f"link to a {kind}"
            path.symlink_to(place)
        assert f"is a {kind}, where a regular file is needed" in _refused(READERS[reader], path)


@pytest.mark.parametrize("reader", READERS)
def test_what_is_missing_stays_missing(tmp_path: Path, reader: str) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    for name in ("nothing", "dangling"):
        with pytest.raises(FileNotFoundError):
            READERS[reader](tmp_path / name)


@pytest.mark.hostile("run file")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" * 100_000, "nested in more than 100 levels"),
        ("[" * 101 + "1" + "]" * 101, "nested in more than 100 levels"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "nested in more than 100 levels"),
        ("{", "Expecting property name"),
        ("9" * 5000, "Exceeds the limit"),
    ],
    ids=["brackets", "a level too many", "objects", "cut off", "digits"],
)
def test_json(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "a.json").write_text(content)
    assert said in _refused(read_json, tmp_path / "a.json")


@pytest.mark.hostile("run file")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" * 5000 + "]" * 5000, "no YAML that can be read"),
        ("[" * 101 + "]" * 101, "nested in more than 100 levels"),
        ("\n".join(" " * n + "a:" for n in range(150)), "nested in more than 100 levels"),
        (LAUGHS, "more than 100,000 values, with those that its aliases repeat"),
        ("a: &a [*a]", "*a stands for something that is not complete there"),
        ("a: *nothing", "nothing"),
        ("a: [", "expected"),
        ("a: \0", "no YAML"),
    ],
    ids=["brackets", "a level too many", "blocks", "laughs", "circle", "unknown alias", "cut off", "NUL"],
)
def test_yaml(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "a.yaml").write_text(content)
    assert said in _refused(read_yaml, tmp_path / "a.yaml")


def test_what_is_within_the_limits_is_read_as_it_is(tmp_path: Path) -> None:
    value = {"a": [1, 2.5, None, {"b": "ü"}], "c": json.loads("[" * 98 + "]" * 98)}
    (tmp_path / "a.json").write_text(json.dumps(value))
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(value) + "\nd: &d {e: 1}\nf: [*d, *d]\n")
    assert read_json(tmp_path / "a.json") == value
    assert read_yaml(tmp_path / "a.yaml") == {**value, "d": {"e": 1}, "f": [{"e": 1}] * 2}


def test_size_and_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xff")
    assert "is not UTF-8: invalid start byte at byte 0" in _refused(read_json, path)
    path.write_bytes(bytes(2**20 + 1))
    assert "is larger than the 1 MiB" in _refused(lambda path: read_json(path, 2**20), path)


@pytest.mark.hostile("no file")
@pytest.mark.parametrize(
    "row",
    ["x" * 10_000_000, '"' + "x" * 200_000 + '"', '"' + "x\n" * 200_000],
    ids=["line", "field", "quote"],
)
def test_a_field_has_an_end(tmp_path: Path, row: str) -> None:
    (tmp_path / "a.csv").write_text(f"a,b\n1,2\n{row}\n")
    assert "is damaged in line" in _refused(READERS["table"], tmp_path / "a.csv")


def test_rows_have_numbers_and_a_cut_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b\n1,"x\ny"\n3,4\n5,')
    assert list(read_rows(tmp_path / "a.csv")) == [(1, ["a", "b"]), (3, ["1", "x\ny"]), (4, ["3", "4"])]
    (tmp_path / "a.csv").write_bytes(b"a,b\n\xff\n")
    assert "is not UTF-8" in _refused(READERS["table"], tmp_path / "a.csv")


def test_a_packed_text_is_unpacked_as_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(2**25)))
    assert "has more than 16 MiB in line 1" in _refused(READERS["lines"], path)
    path.write_bytes(gzip.compress(b"\n" * 2**19))
    assert len(READERS["lines"](path)) == 2**19, "small texts may be as dense as they like"
    monkeypatch.setattr(reading, "_NEVER_DENSE", 2**18)
    assert "unpacks to more than 200 times its size" in _refused(READERS["lines"], path)
    path.write_bytes(gzip.compress(b"line\n" * 10)[:-4])
    assert "is damaged" in _refused(READERS["lines"], path)
    path.write_bytes(b"no gzip")
    assert "is damaged" in _refused(READERS["lines"], path)


def test_a_circle_ends(tmp_path: Path) -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    with pytest.raises(ValueError, match="nested"):
        list(leaves(circle))
    shared = [1]
    assert list(islice(leaves({"a": [shared, shared], "b": (2, {3})}), 9)).count(1) == 2
