"""Anyone's own texts: tables, folders, what is held out, and what is wrong with them."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from data.core.splitting import sentence_key
from data.text.labelled.folds import Example
from data.text.labelled.own_texts import OwnTexts
from data.text.tables import read_table

ROWS = [(f'Text, number {n} "so"', ("good", "bad", "fair")[n % 3]) for n in range(90)]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def table(path: Path, rows: list[Example] = ROWS, text: str = "text", label: str = "label") -> str:
    if ".csv" in path.name:
        lines = [f"id,{label},{text}", *(f"1,{one},{quoted(str(what))}" for what, one in rows)]
    elif ".tsv" in path.name:
        lines = [f"{label}\t{text}", *(f"{one}\t{what}" for what, one in rows)]
    else:
        lines = [json.dumps({label: one, text: what}) for what, one in rows]
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


def folders(path: Path, rows: list[Example] = ROWS) -> str:
    for number, (text, label) in enumerate(rows):
        (path / label).mkdir(parents=True, exist_ok=True)
        (path / label / f"{number:03}.txt").write_text(str(text), encoding="utf-8")
    return str(path)


def load(**options: Any) -> dict[str, list[Example]]:
    corpus = OwnTexts(**options)
    corpus.check_files()
    return {split: list(rows) for split, rows in corpus.load().items()}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz", "a.jsonl.gz"])
def test_tables_with_named_columns(tmp_path: Path, name: str) -> None:
    train = table(tmp_path / name, text="review", label="stars")
    val = table(tmp_path / f"b{name}", ROWS[:9], text="review", label="stars")
    splits = load(
        train=train,
        val=val,
        test=table(tmp_path / f"c{name}", ROWS[9:12], "review", "stars"),
        text="review",
        label="stars",
    )
    assert splits == {"train": ROWS, "val": ROWS[:9], "test": ROWS[9:12]}


def test_a_folder_for_each_label(tmp_path: Path) -> None:
    splits = load(
        train=folders(tmp_path / "a"),
        val=folders(tmp_path / "b", ROWS[:6]),
        test=folders(tmp_path / "c", ROWS[:3]),
    )
    assert sorted(splits["train"]) == sorted(ROWS)
    assert sorted(splits["test"]) == sorted(ROWS[:3])


def test_other_files_in_a_folder_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = folders(tmp_path / "a")
    (tmp_path / "a/good/notes.md").touch()
    (tmp_path / "a/good/.hidden").touch()
    OwnTexts(train=path)
    assert "1 files that are no .txt" in caplog.text


def test_a_field_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,label\n"one\ntwo, three",x\nb,y\n')
    path = str(tmp_path / "a.csv")
    others = {split: table(tmp_path / f"{split}.csv", [("c", "y")]) for split in ("val", "test")}
    assert load(train=path, **others)["train"] == [("one\ntwo, three", "x"), ("b", "y")]


def test_a_long_field_leaves_the_limit_of_other_readers_alone(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    path = tmp_path / "long.csv"
    path.write_text(f'text,label\n"{"word " * 40_000}",a\n')
    [(_, [text])] = read_table(path, ["text"], "data.corpus.text")
    assert len(text) == 200_000
    assert csv.field_size_limit() == limit


def test_labels_of_json_may_be_numbers(tmp_path: Path) -> None:
    rows: list[Any] = [("a", 0), ("b", 1), ("c", True)]
    path = table(tmp_path / "a.jsonl", rows)
    given = {split: table(tmp_path / f"{split}.jsonl", rows[:1]) for split in ("val", "test")}
    assert load(train=path, **given)["train"] == [("a", "0"), ("b", "1"), ("c", "true")]


def test_documents(tmp_path: Path) -> None:
    rows = [("One. Two!", "x"), ("Three", "y")]
    given = {split: table(tmp_path / f"{split}.jsonl", rows) for split in ("train", "val", "test")}
    assert load(**given, documents=True)["train"] == [(["One.", "Two!"], "x"), (["Three"], "y")]


@pytest.mark.parametrize("given", [set(), {"val"}, {"test"}])
def test_what_is_held_out_is_stratified_and_stands_nowhere_else(tmp_path: Path, given: set[str]) -> None:
    twice = [(f"{text} !", label) for text, label in ROWS]  # the same but for punctuation
    others = {split: table(tmp_path / f"{split}.csv", ROWS[:3]) for split in given}
    splits = load(train=table(tmp_path / "a.csv", [*ROWS, *twice]), held_out=0.2, **others)
    held_out = {"val", "test"} - given
    keys = {split: {sentence_key(str(text)) for text, _ in splits[split]} for split in {"train", *held_out}}
    assert sum(map(len, keys.values())) == len(set.union(*keys.values())) == 90
    for split in held_out:
        assert {one: sum(label == one for _, label in splits[split]) for one in ("good", "bad", "fair")} == {
            "good": 12,
            "bad": 12,
            "fair": 12,
        }


def test_the_order_of_the_file_does_not_matter(tmp_path: Path) -> None:
    one, other = load(train=table(tmp_path / "a.csv")), load(train=table(tmp_path / "b.csv", ROWS[::-1]))
    assert {split: sorted(rows) for split, rows in one.items()} == {
        split: sorted(rows) for split, rows in other.items()
    }


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("a.csv", "texts,label\nb,c\n", "line 1.*did you mean 'texts'"),
        ("a.csv", "text,text,label\na,b,c\n", "line 1.*twice"),
        ("a.csv", "text,label\na,b\nc\n", "line 3"),
        ("a.csv", 'text,label\n"a"b,c\n', "line 2"),
        ("a.csv", 'text,label\na,b\n"c,d\ne,f\n', "line 3, .*to line 4.*quote"),
        ("a.csv", "text,label\na,b\n ,b\n\nc,d\n", "line 3 .*line 4"),
        ("a.tsv", "text\tlabel\na\tb\tc\n", "line 2"),
        ("a.jsonl", '{"text": "a", "label": "b"}\n{"text": "a"}\n', "line 2.*'label'"),
        ("a.jsonl", '{"text": 1, "label": "b"}\n', "line 1.*'text'"),
        ("a.jsonl", '{"text": "a", "label": 1.5}\n', "line 1.*'label'"),
        ("a.jsonl", "[1]\n", "line 1"),
        ("a.jsonl", "", "empty"),
        ("a.jsonl", '{"text": "a", "label": "b"}\n\n', "line 2 lacks text or label"),
        ("a.csv", "text,label\ra,b\r", "line 1: it holds a carriage return without a line feed"),
        ("a.csv", 'text,label\na,b\n"c,d\n', "line 3: the file ends within quotes"),
        ("a.csv", "text,label\na,b\nc,b\n", "one label, 'b'"),
        ("a.csv", "text,label\n", "no texts"),
    ],
)
def test_the_line_that_is_wrong_is_named_before_a_run(
    tmp_path: Path, name: str, content: str, named: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=f"(?s){name}.*{named}"):
        OwnTexts(train=str(tmp_path / name)).check_files()


def test_what_is_no_file_of_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "hollow/good").mkdir(parents=True)
    (tmp_path / "reviews.csv").touch()
    (tmp_path / "a.xlsx").touch()
    for train, named in (
        (None, r"data\.corpus\.train="),
        ("", r"data\.corpus\.train="),
        ("empty", "no folder in it"),
        ("hollow", r"a folder of \.txt files for each label; .*good has no \.txt"),
        ("review.csv", r"did you mean .*reviews\.csv"),
        ("a.xlsx", r"must be a \.csv"),
    ):
        with pytest.raises(ValueError, match=named):
            OwnTexts(train=str(tmp_path / train) if train else train)


def test_a_blank_file_is_named(tmp_path: Path) -> None:
    path = folders(tmp_path / "a", [*ROWS, ("  ", "good")])
    with pytest.raises(ValueError, match=r"090\.txt is blank"):
        load(train=path)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], "has no texts"),
        ([("a", "x"), ("b", "x")], "one label, 'x'"),
        ([*ROWS, ("a", "rare")], "1 different texts of 'rare'"),
    ],
)
def test_too_few_labels_or_texts(tmp_path: Path, rows: list[Example], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        load(train=table(tmp_path / "a.csv", rows))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"held_out": 0.5}, "held_out"),
        ({"held_out": 0.0}, "held_out"),
        ({"label": "text"}, "text and label"),
        ({"language": "English"}, "ISO 639"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        OwnTexts(train=table(tmp_path / "a.csv"), **options)


def test_the_line_of_a_label_that_train_lacks_is_named(tmp_path: Path) -> None:
    train = table(tmp_path / "a.csv")
    test = table(tmp_path / "b.csv", [ROWS[0], ("x", "goof")])
    with pytest.raises(ValueError, match=r"b\.csv, line 3: label 'goof' .*did you mean good\?"):
        OwnTexts(train=train, test=test).check_files()
    longer = table(tmp_path / "d.csv", ROWS * 12)
    OwnTexts(train=longer, test=test).check_files()  # before a run the beginning of train is read
    with pytest.raises(ValueError, match=r"b\.csv, line 3: label 'goof'"):
        [list(rows) for rows in OwnTexts(train=longer, test=test).load().values()]
    (tmp_path / "c/goof").mkdir(parents=True)
    (tmp_path / "c/goof/1.txt").write_text("x")
    with pytest.raises(ValueError, match=r"1\.txt: label 'goof'"):
        load(train=train, test=str(tmp_path / "c"))


def test_a_split_needs_texts_of_its_own(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="test must have texts of its own"):
        OwnTexts(train=path, test=path)


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    path = folders(tmp_path / "a")
    before = OwnTexts(train=path).fingerprint()
    assert OwnTexts(train=folders(tmp_path / "b")).fingerprint() == before
    (tmp_path / "a/good/000.txt").write_text("changed")
    assert OwnTexts(train=path).fingerprint() != before
    assert OwnTexts(train=path, held_out=0.2).fingerprint() != OwnTexts(train=path).fingerprint()
