"""Files of word vectors in their formats, and what is wrong with them."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from zoo.core.word_vectors import read_vectors, vector_size

LINES = "the 1 2.5 -3e-1\n, 0 0 1\nnaïve .5 .5 .5\n"
HEADER = "3 3\n"


def written(path: Path, text: str) -> Path:
    content = text.encode()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("vectors.txt", content)
    else:
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("ending", ["txt", "vec", "txt.gz", "zip"])
@pytest.mark.parametrize(
    "text",
    [
        LINES,
        HEADER + LINES,
        LINES.replace("\n", " \n"),
        LINES.replace("\n", "\r\n"),
        "\ufeff" + LINES,
        "\ufeff" + HEADER + LINES,
        LINES.replace(" ", "  "),
        LINES.replace(" ", "\t"),
    ],
)
def test_formats(tmp_path: Path, ending: str, text: str) -> None:
    path = written(tmp_path / f"vectors.{ending}", text)
    assert vector_size(path) == 3
    size, found = read_vectors(path, {"the", "naïve", "cat"})
    assert size == 3
    assert found.keys() == {"the", "naïve"}
    np.testing.assert_array_equal(found["the"], np.array([1, 2.5, -0.3], np.float32))


def test_a_word_with_blanks_is_one_and_the_first_of_two_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "v.txt", "the 1 2\n. . . 3 4\nat name@domain.com 5 6\nthe 7 8\n")
    found = read_vectors(path, {"the", ". . .", "at name@domain.com"}).vectors
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "the": [1, 2],
        ". . .": [3, 4],
        "at name@domain.com": [5, 6],
    }


def test_numbers_are_words_too(tmp_path: Path) -> None:
    assert read_vectors(written(tmp_path / "v.txt", "1 1 2\n2 3 4\n"), {"2"}).vectors["2"].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (LINES + "cat 1 2\n", "line 4.*3 numbers.*got 2"),
        (LINES + "cat 1 2 3 4\n", "line 4.*3 numbers.*got 4"),
        (HEADER + LINES + "\n", "line 5"),
        (LINES + "cat 1 x 3\n", "line 4.*x"),
        (LINES + "cat 1 nan 3\n", "line 4.*finite"),
        ("word\n", "line 1"),
        ("", "line 1"),
        ("5 0\n", "line 1"),
    ],
)
def test_the_line_that_is_broken_is_named(tmp_path: Path, text: str, named: str) -> None:
    path = written(tmp_path / "v.txt", text)
    with pytest.raises(ValueError, match=named):
        read_vectors(path, {"cat"})
    with pytest.raises(ValueError, match=named):
        vector_size(path)


@pytest.mark.parametrize("said", [2, 4])
def test_a_file_with_other_than_its_number_of_words_is_refused(tmp_path: Path, said: int) -> None:
    path = written(tmp_path / "v.vec", f"{said} 3\n{LINES}")
    with pytest.raises(ValueError, match=rf"line 1 says {said} words, and 3 follow"):
        read_vectors(path, {"the"})


def test_a_word_of_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"the 1 2\ncaf\xe9 1 2\n")
    with pytest.raises(ValueError, match=r"v\.txt is broken in line 2"):
        read_vectors(tmp_path / "v.txt", {"the"})


def test_an_archive_holds_one_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.writestr("50d.txt", LINES)
        archive.writestr("100d.txt", LINES)
    with pytest.raises(ValueError, match=r"50d\.txt, 100d\.txt"):
        vector_size(tmp_path / "v.zip")
    (tmp_path / "damaged.zip").write_bytes(b"PK")
    with pytest.raises(ValueError, match="damaged"):
        vector_size(tmp_path / "damaged.zip")


@pytest.mark.parametrize(
    ("place", "put", "said"),
    [
        (200, b"\xff" * 100, "is damaged"),  # its content
        (6, b"\1", "cannot be unpacked here: .*password"),
        (8, b"\x63", "cannot be unpacked here: .*not supported"),
    ],
)
def test_an_archive_that_cannot_be_unpacked_is_named(
    tmp_path: Path, place: int, put: bytes, said: str
) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.txt", "".join(f"w{n} {n * n} {n * 7919 % 1009}\n" for n in range(500)))
    content = bytearray(path.read_bytes())
    content[place : place + len(put)] = put
    if len(put) == 1:  # of the file: the list at the end says it, too
        content[content.rfind(b"PK\1\2") + place + 2] = put[0]
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"v\.zip {said}"):
        vector_size(path)


@pytest.mark.parametrize("ending", [".gz", ".zip"])
def test_a_packed_file_must_be_called_so(tmp_path: Path, ending: str) -> None:
    packed = tmp_path / f"v{ending}"
    if ending == ".gz":
        packed.write_bytes(gzip.compress(b"a 1 2\n"))
    else:
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("v.txt", "a 1 2\n")
    with pytest.raises(ValueError, match=rf"v\.txt is packed: its name must end in \{ending}"):
        vector_size(packed.rename(tmp_path / "v.txt"))
