"""Reading parallel text."""

import gzip
import os
from pathlib import Path

import pytest

from data.text.text_files import content_hash, read_jsonl, read_lines, read_pairs, read_tsv


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.en", "a.en.gz"])
def test_lines(tmp_path: Path, name: str) -> None:
    content = "\ufeffzwei  Bretter \r\nein\u2028Satz\tmit \x0b allem\nletzte Zeile ohne Ende"
    assert list(read_lines(write(tmp_path / name, content.encode()))) == [
        "zwei  Bretter ",  # nothing but the line's end is cut off
        "ein\u2028Satz\tmit \x0b allem",  # only a line feed ends a line: both sides would get out of step
        "letzte Zeile ohne Ende",
    ]


@pytest.mark.hostile("own data")
def test_undecodable_bytes_are_located(tmp_path: Path) -> None:
    path = write(tmp_path / "a.de.gz", b"gut\n" * 6 + "schön".encode("latin-1") + b"\ngut\n")
    with pytest.raises(ValueError, match=r"a\.de\.gz, line 7: byte 0xf6 at column 4"):
        list(read_lines(path))


@pytest.mark.hostile("no file")
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
        list(read_lines(tmp_path / "a.gz"))


@pytest.mark.hostile("no file")
@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_a_pipe_is_named_and_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    for read in (read_lines, read_tsv, read_jsonl, lambda path: content_hash([path])):
        with pytest.raises(ValueError, match=rf"{name} is a named pipe, where a regular file is needed"):
            list(read(tmp_path / name))


@pytest.mark.hostile("no file")
def test_a_packed_file_of_nothing_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(2**25)))
    with pytest.raises(ValueError, match=r"a\.gz has more than 16 MiB in line 1"):
        list(read_lines(tmp_path / "a.gz"))


def test_what_cannot_be_read_is_no_failure_to_write(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gone cannot be read: No such file"):
        list(read_lines(tmp_path / "gone"))


def test_a_file_is_read_as_it_is_needed(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"first\n" + b"x\n" * 10_000 + b"\xff\n")
    assert next(read_lines(path)) == "first", "the mistake at the end was not reached"


@pytest.mark.hostile("own data")
def test_empty_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a is empty"):
        list(read_lines(write(tmp_path / "a", b"")))


@pytest.mark.hostile("own data")
@pytest.mark.parametrize("longer", ["source", "target"])
def test_unequal_counts_name_the_file_that_ends_first(tmp_path: Path, longer: str) -> None:
    paths = {
        side: write(tmp_path / side, b"x\n" * (5 if side == longer else 3)) for side in ("source", "target")
    }
    shorter = "target" if longer == "source" else "source"
    with pytest.raises(ValueError, match=f"{shorter} ends first, after 3 lines; .*{longer} has 5"):
        list(read_pairs(paths["source"], paths["target"]))


@pytest.mark.hostile("own data")
@pytest.mark.parametrize("blank", [b"", b"  \t", "\u00a0".encode(), b"\r", "\ufeff".encode(), b"\0\0"])
def test_blank_lines_are_located(tmp_path: Path, blank: bytes) -> None:
    source, target = write(tmp_path / "s", b"a\nb\nc\n"), write(tmp_path / "t", b"a\n" + blank + b"\nc\n")
    with pytest.raises(ValueError, match=r"t, line 2 is empty: .* \(.* control characters do not count\)$"):
        list(read_pairs(source, target))


def test_all_blank_lines_are_named_but_not_thousands(tmp_path: Path) -> None:
    source, target = write(tmp_path / "s", b"\nb\n\nd\n"), write(tmp_path / "t", b"a\n\nc\nd\n")
    with pytest.raises(ValueError, match=r"s, line 1 is empty; .*s, line 3 .*; .*t, line 2 is empty: remove"):
        list(read_pairs(source, target))
    with pytest.raises(ValueError, match=r"line 4 is empty; .*line 5 is empty; and 45 more: remove"):
        list(read_pairs(write(source, b"\n" * 50), write(target, b"x\n" * 50)))


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_tables(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, b'ein Mann\ta man\r\n "Wort" \tword\n')
    assert list(read_tsv(path)) == [("ein Mann", "a man"), (' "Wort" ', "word")]
    path = write(tmp_path / name, b"a\tb\nc\td\tCC-BY\n")
    assert list(read_tsv(path, columns=(2, 3))) == [("a", "b"), ("c", "d")]


@pytest.mark.hostile("own data")
@pytest.mark.parametrize(("line", "columns"), [(b"a\tb\tc", 3), (b"a", 1), (b"a\tb\t", 3)])
def test_other_columns_are_located(tmp_path: Path, line: bytes, columns: int) -> None:
    path = write(tmp_path / "a.tsv", b"a\tb\n" + line + b"\n")
    with pytest.raises(
        ValueError, match=rf"a\.tsv, line 2: {columns} columns, must be 2: source, a tab, target"
    ):
        list(read_tsv(path))


@pytest.mark.hostile("own data")
@pytest.mark.parametrize("line", ["", "a\t", "\tb", "a\t\u200b", " \t "])
def test_blank_sides_of_tables_are_located(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "a.tsv", f"a\tb\n{line}\nc\td\n".encode())
    with pytest.raises(ValueError, match=r"a\.tsv, line 2 lacks source or target: remove or fill them"):
        list(read_tsv(path))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    content = '{"source": "a", "target": "sch\\u00f6n", "id": 7}\n{"de": "b", "en": "x\\ty"}\n'
    keys = [("source", "target"), ("en", "de")]
    assert list(read_jsonl(write(tmp_path / name, content.encode()), keys)) == [("a", "schön"), ("x\ty", "b")]


@pytest.mark.hostile("own data")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a", ', r"line 2: no JSON, .* at column"),
        ('["a", "b"]', r"line 2: must be a JSON object, got \["),
        ("[" * 100_000, "line 2: no JSON that can be read, .*recursion"),
        (
            '{"source": "a", "tgt": "b"}',
            r"line 2: must have the keys 'source' and 'target'; it has 'source', 'tgt'",
        ),
        ("{}", "line 2: .* it has none"),
        ('{"source": "a", "target": "b", "source": "c"}', "line 2: .*'source' stands twice"),
        ('{"source": "a", "target": 3}', "line 2: 'target' must be text, got 3"),
        ('{"source": "\\ud800", "target": "b"}', "line 2: 'source' is no text"),
        ('{"source": "a", "target": " "}', "line 2 lacks source or target"),
        ("", "line 2 lacks source or target"),
    ],
)
def test_mistakes_in_json_lines_are_located(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n'.encode())
    with pytest.raises(ValueError, match=rf"a\.jsonl, {message}"):
        list(read_jsonl(path))
