"""Published sets of long texts, in small files of their layout, and as they were published."""

import gzip
import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from data.text import preparation
from data.text.columns import Sentences, Text
from data.text.labelled import folds, published_file
from data.text.labelled.document_sets import IMDB, Newsgroups20, Polarity
from data.text.vocabulary import Tokens
from zoo.core import sentences


def write(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode()))


def reviews(folder: Path) -> None:
    rows = [
        {"text": f"Part {n} is\x85 bad.<br /><br />It\x92s  over! Really\x07.", "label": n % 2}
        for n in range(40)
    ]
    write(folder / "imdb/train.jsonl.gz", rows)
    write(folder / "imdb/test.jsonl.gz", rows[:4])


def test_reviews(tmp_path: Path) -> None:
    reviews(tmp_path)
    splits = IMDB(data_dir=tmp_path, documents=True).load()
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 36, "val": 4, "test": 4}
    assert sum(label == "positive" for _, label in splits["val"]) == 2
    assert splits["test"][1] == (["Part 1 is… bad.", "It’s over!", "Really ."], "positive")


def test_documents_and_texts_have_the_same_words(tmp_path: Path) -> None:
    reviews(tmp_path)
    documents, texts = (IMDB(data_dir=tmp_path, documents=choice) for choice in (True, False))
    assert isinstance(documents.columns["text"], Sentences)
    assert isinstance(texts.columns["text"], Text)
    assert documents.fingerprint() != texts.fingerprint()
    for split, rows in documents.load().items():
        assert texts.load()[split] == [(" ".join(document), label) for document, label in rows]


def test_polarity_has_its_published_folds(tmp_path: Path) -> None:
    rows = [
        {"id": f"x{n}", "label": n % 2, "fold": n // 4, "sents": [f"number  {n} .", "so what ?"]}
        for n in range(40)
    ]
    write(tmp_path / "polarity_v2/polarity_v2.jsonl.gz", rows)
    corpus = Polarity(data_dir=tmp_path, documents=True)
    for fold in range(10):
        corpus.choose(fold)
        splits = corpus.load()
        assert [document[0] for document, _ in splits["test"]] == [
            f"number {4 * fold + n} ." for n in range(4)
        ]
        assert (len(splits["train"]), len(splits["val"])) == (32, 4)
    flat = Polarity(data_dir=tmp_path, documents=False)
    assert flat.examples()[0] == ("number 0 . so what ?", "negative")


def posts(folder: Path) -> None:
    header = "From: somebody\nSubject: a car\nLines: 2\n\n"
    rows = [
        {"text": f"{header}Post {n}.\n\n> Quoted\n", "label": ("rec.autos", "sci.med")[n % 2]}
        for n in range(40)
    ]
    write(folder / "20ng/train.jsonl.gz", rows)
    write(folder / "20ng/test.jsonl.gz", [*rows[:3], {"text": f"{header} \n", "label": "sci.med"}])


def test_posts_without_headers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    posts(tmp_path)
    corpus = Newsgroups20(data_dir=tmp_path, documents=True, headers=False)
    assert corpus.name == "newsgroups20"
    with caplog.at_level(logging.INFO):
        splits = corpus.load()
    assert splits["test"][0] == (["Post 0.", "> Quoted"], "rec.autos")
    assert splits["test"][3] == (["(blank)"], "sci.med"), "no test item is left out"
    assert "1 posts of test" in caplog.text
    assert len(splits["train"]) == 36


def test_posts_with_headers_are_another_set(tmp_path: Path) -> None:
    posts(tmp_path)
    corpus = Newsgroups20(data_dir=tmp_path, documents=True, headers=True)
    assert corpus.name == "newsgroups20_headers"
    assert corpus.load()["test"][0][0] == ["From: somebody Subject: a car Lines: 2", "Post 0.", "> Quoted"]
    assert (
        corpus.fingerprint() != Newsgroups20(data_dir=tmp_path, documents=True, headers=False).fingerprint()
    )


@pytest.mark.parametrize(
    "row", [["text"], {"text": "a"}, {"text": "a", "label": "1"}, {"text": None, "label": 1}]
)
def test_a_line_that_is_no_review_is_named(tmp_path: Path, row: Any) -> None:
    reviews(tmp_path)
    write(tmp_path / "imdb/train.jsonl.gz", [{"text": "good", "label": 1}, row])
    with pytest.raises(ValueError, match=r"train\.jsonl\.gz, line 2"):
        IMDB(data_dir=tmp_path, documents=True).load()


@pytest.mark.parametrize("label", [2, -1])
def test_a_label_that_is_none_is_named(tmp_path: Path, label: int) -> None:
    write(tmp_path / "imdb/train.jsonl.gz", [{"text": "good", "label": label}])
    write(tmp_path / "imdb/test.jsonl.gz", [{"text": "good", "label": 1}])
    with pytest.raises(ValueError, match=r"train\.jsonl\.gz, line 1.*label"):
        IMDB(data_dir=tmp_path, documents=True).load()


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    for corpus in (
        IMDB(data_dir=tmp_path, documents=True),
        Polarity(data_dir=tmp_path, documents=True),
        Newsgroups20(data_dir=tmp_path, documents=True, headers=False),
    ):
        with pytest.raises(FileNotFoundError, match=r"lacks .*jsonl \(.* MB packed\).*http"):
            corpus.check_files()


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options", "counts"),
    [
        (IMDB, {}, (22500, 2500, 25000)),
        (Polarity, {}, (1620, 180, 200)),
        (Newsgroups20, {"headers": False}, (10182, 1132, 7532)),
    ],
)
def test_published_files(kind: type[IMDB], options: dict[str, bool], counts: tuple[int, ...]) -> None:
    splits = kind(data_dir=os.environ["ZOO_DATA_DIR"], documents=True, **options).load()
    assert tuple(len(splits[split]) for split in ("train", "val", "test")) == counts


def test_prepared_documents_depend_on_the_code_that_reads_and_cuts_them(tmp_path: Path) -> None:
    code = "".join(preparation._code(IMDB(data_dir=tmp_path, documents=True), Tokens()))
    for module in (sentences, published_file, folds):
        assert Path(str(module.__file__)).read_text(encoding="utf-8") in code
