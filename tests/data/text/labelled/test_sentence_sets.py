"""Published sets of single sentences, in small files of their layout, and as they were published."""

import gzip
import logging
import os
from pathlib import Path

import pytest

from data.text.corpus import Corpus
from data.text.labelled.folds import FoldedCorpus
from data.text.labelled.sentence_sets import CR, MPQA, MR, SST2, SST5, Subj, Trec

TWO_FILES = {
    MR: ("mr/rt-polarity.neg", "mr/rt-polarity.pos"),
    Subj: ("subj/subj.subjective", "subj/subj.objective"),
    CR: ("cr/custrev.neg", "cr/custrev.pos"),
    MPQA: ("mpqa/mpqa.neg", "mpqa/mpqa.pos"),
}


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("kind", TWO_FILES)
def test_two_files_of_lines(
    tmp_path: Path, kind: type[MR], packed: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number, name in enumerate(TWO_FILES[kind]):
        lines = [f"text {number} of {line} ,  it 's" for line in range(30)]
        write(tmp_path / f"{name}{packed}", "\n".join([*lines, " ", lines[3], ""]).encode())
    corpus = kind(data_dir=tmp_path)
    corpus.check_files()
    before = corpus.fingerprint()
    with caplog.at_level(logging.INFO):
        examples = corpus.examples()
    assert len(examples) == 62
    assert "1 blank" in caplog.text
    assert examples[0] == ("text 0 of 0 ,  it 's", next(iter(kind.files)))
    corpus.choose(3)
    assert corpus.fingerprint() != before
    assert {split: len(rows) for split, rows in corpus.load().items()} == {"train": 50, "val": 6, "test": 6}


def test_windows_characters_cut_no_line(tmp_path: Path) -> None:
    for name in TWO_FILES[MR]:
        write(tmp_path / name, "so … caf\xe9 — ‘fine’\nnext\n".encode("cp1252"))
    texts = [text for text, _ in MR(data_dir=tmp_path).examples()]
    assert texts == ["so … café — ‘fine’", "next"] * 2


def test_a_byte_of_another_encoding_is_named(tmp_path: Path) -> None:
    for name in TWO_FILES[CR]:
        write(tmp_path / name, b"good\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"custrev\.neg, line 2"):
        CR(data_dir=tmp_path).examples()


def test_questions(tmp_path: Path) -> None:
    lines = [f"{label} What {number} ?" for number in range(10) for label in ("NUM:dist", "LOC:city")]
    write(
        tmp_path / "trec/TREC.train.latin1.label",
        "\n".join([*lines, "HUM:ind Who é ?"] * 2).encode("latin-1"),
    )
    write(tmp_path / "trec/TREC.test.label", "ABBR:exp Wofür é ?\n".encode())
    splits = Trec(data_dir=tmp_path).load()
    assert splits["test"] == [("Wofür é ?", "ABBR")]
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 37, "val": 5, "test": 1}
    assert ("Who é ?", "HUM") in splits["train"]


@pytest.mark.parametrize(
    ("kind", "name", "label"), [(SST2, "binary", "positive"), (SST5, "fine", "negative")]
)
def test_treebank(tmp_path: Path, kind: type[SST2] | type[SST5], name: str, label: str) -> None:
    for split in ("train", "dev", "test"):
        write(tmp_path / f"sst/stsa.{name}.{split}", f"1 {split} é .\n0 bad\n".encode())
    splits = kind(data_dir=tmp_path).load()
    assert splits["val"] == [("dev é .", label), ("bad", kind.labels[0])]
    assert list(splits) == ["train", "val", "test"]


@pytest.mark.parametrize("line", ["7 seven", "1", "good 1"])
def test_a_line_without_its_label_is_named(tmp_path: Path, line: str) -> None:
    for split in ("train", "dev", "test"):
        write(tmp_path / f"sst/stsa.fine.{split}", f"1 good\n{line}\n".encode())
    with pytest.raises(ValueError, match=r"stsa\.fine\.train, line 2"):
        SST5(data_dir=tmp_path).load()


@pytest.mark.parametrize("kind", [*TWO_FILES, Trec, SST2, SST5])
def test_what_is_missing_is_named(tmp_path: Path, kind: type[MR]) -> None:
    with pytest.raises(FileNotFoundError, match=r"lacks .* \(.*B\) and .*https://"):
        kind(data_dir=tmp_path).check_files()


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        (MR, {"negative": 5331, "positive": 5331}),
        (Subj, {"subjective": 5000, "objective": 5000}),
        (CR, {"negative": 1366, "positive": 2405}),
        (MPQA, {"negative": 7292, "positive": 3311}),
    ],
)
def test_published_files_without_splits(kind: type[MR], counts: dict[str, int]) -> None:
    corpus = kind(data_dir=os.environ["ZOO_DATA_DIR"])
    assert isinstance(corpus, FoldedCorpus)
    labels = [label for _, label in corpus.examples()]
    assert {label: labels.count(label) for label in set(labels)} == counts


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("kind", "counts"), [(Trec, (4906, 546, 500)), (SST2, (6920, 872, 1821)), (SST5, (8544, 1101, 2210))]
)
def test_published_files_with_splits(kind: type[Trec], counts: tuple[int, int, int]) -> None:
    corpus: Corpus = kind(data_dir=os.environ["ZOO_DATA_DIR"])
    splits = corpus.load()
    assert tuple(len(list(splits[split])) for split in ("train", "val", "test")) == counts
