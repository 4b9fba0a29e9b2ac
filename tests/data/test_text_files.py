"""Reading parallel text."""

import gzip
from pathlib import Path

import pytest

from data.text_files import read_lines, read_pairs


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.en", "a.en.gz"])
def test_lines(tmp_path: Path, name: str) -> None:
    content = "\ufeffzwei  Bretter \r\nein\u2028Satz\tmit \x0b allem\nletzte Zeile ohne Ende"
    assert read_lines(write(tmp_path / name, content.encode())) == [
        "zwei  Bretter ",  # nothing but the line's end is cut off
        "ein\u2028Satz\tmit \x0b allem",  # only a line feed ends a line: both sides would get out of step
        "letzte Zeile ohne Ende",
    ]


def test_undecodable_bytes_are_located(tmp_path: Path) -> None:
    path = write(tmp_path / "a.de.gz", b"gut\n" * 6 + "schön".encode("latin-1") + b"\ngut\n")
    with pytest.raises(ValueError, match=r"a\.de\.gz, line 7: byte 0xf6 at column 4"):
        read_lines(path)


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"text\n" * 100)[:-9],
        b"no archive",
        gzip.compress(b"text" * 99)[:14],
        gzip.compress(b"text")[:10] + b"\xff" * 20,
    ],
    # by name, because an archive holds the time it was made
    ids=["cut at the end", "no archive", "cut at the beginning", "overwritten"],
)
def test_damaged_archives(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.gz is damaged"):
        read_lines(tmp_path / "a.gz")


def test_empty_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a is empty"):
        read_lines(write(tmp_path / "a", b""))


@pytest.mark.parametrize("longer", ["source", "target"])
def test_unequal_counts_name_the_file_that_ends_first(tmp_path: Path, longer: str) -> None:
    paths = {
        side: write(tmp_path / side, b"x\n" * (5 if side == longer else 3)) for side in ("source", "target")
    }
    shorter = "target" if longer == "source" else "source"
    with pytest.raises(ValueError, match=f"{shorter} ends first, after 3 lines; .*{longer} has 5"):
        read_pairs(paths["source"], paths["target"])


@pytest.mark.parametrize("blank", [b"", b"  \t", "\u00a0".encode(), b"\r", "\ufeff".encode()])
def test_blank_lines_are_located(tmp_path: Path, blank: bytes) -> None:
    source, target = write(tmp_path / "s", b"a\nb\nc\n"), write(tmp_path / "t", b"a\n" + blank + b"\nc\n")
    with pytest.raises(ValueError, match=r"t, line 2 is empty"):
        read_pairs(source, target)


def test_all_blank_lines_are_named_but_not_thousands(tmp_path: Path) -> None:
    source, target = write(tmp_path / "s", b"\nb\n\nd\n"), write(tmp_path / "t", b"a\n\nc\nd\n")
    with pytest.raises(ValueError, match=r"s, line 1 is empty; .*s, line 3 .*; .*t, line 2 is empty: remove"):
        read_pairs(source, target)
    with pytest.raises(ValueError, match=r"line 4 is empty; .*line 5 is empty; and 45 more: remove"):
        read_pairs(write(source, b"\n" * 50), write(target, b"x\n" * 50))
