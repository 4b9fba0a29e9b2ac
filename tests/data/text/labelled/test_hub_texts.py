"""Sets of `datasets`, from a local folder; none comes from a network here."""

import logging
from pathlib import Path
from typing import Any

import datasets
import pytest

from data.text.labelled.folds import Example
from data.text.labelled.hub_texts import HubTexts

ROWS: list[Example] = [(f"review {n}", ("bad", "good")[n % 2]) for n in range(40)]


pytestmark = pytest.mark.usefixtures("private_cache")


def place(folder: Path, rows: list[Any] = ROWS, name: str = "reviews", **columns: str) -> None:
    (folder / name).mkdir(parents=True)
    text, label = columns.get("text", "text"), columns.get("label", "label")
    features = datasets.Features(
        {text: datasets.Value("string"), label: datasets.ClassLabel(names=["bad", "good"])}
    )
    for split, own in (("train", rows), ("test", rows[:4])):
        numbers = [{"bad": 0, "good": 1}.get(one, -1) for _, one in own]
        table = datasets.Dataset.from_dict({text: [what for what, _ in own], label: numbers}, features)
        table.to_parquet(folder / name / f"{split}.parquet")


def load(folder: Path, **options: Any) -> dict[str, list[Example]]:
    corpus = HubTexts(data_dir=folder, **{"hub": "somebody/reviews", **options})
    return {split: list(rows) for split, rows in corpus.load().items()}


@pytest.mark.parametrize("name", ["reviews", "somebody_reviews"])
def test_a_local_folder_whose_classes_have_names(tmp_path: Path, name: str) -> None:
    place(tmp_path, name=name)
    splits = load(tmp_path, held_out=0.2)
    assert splits["test"] == ROWS[:4]
    assert len(splits["val"]) == 8
    assert sorted([*splits["train"], *splits["val"]]) == sorted(ROWS)


def test_other_names_and_documents(tmp_path: Path) -> None:
    place(tmp_path, [("One. Two.", "good"), ("Three", "bad"), *ROWS], text="sentence", label="kind")
    splits = load(tmp_path, text="sentence", label="kind", val="test", test=None, documents=True)
    assert splits["val"][0] == (["One.", "Two."], "good")


def test_rows_without_text_or_label_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place(tmp_path, [*ROWS, (" ", "good"), (None, "bad"), ("unlabelled", "")])
    with caplog.at_level(logging.WARNING):
        splits = load(tmp_path)
    assert len(splits["train"]) + len(splits["val"]) == 40
    assert "3 rows lack" in caplog.text


def test_plain_labels_are_names_even_below_zero(tmp_path: Path) -> None:
    (tmp_path / "reviews").mkdir()
    for split in ("train", "test"):
        lines = [f"text {n},{n % 3 - 1}" for n in range(30)]
        (tmp_path / f"reviews/{split}.csv").write_text("\n".join(["text,label", *lines]))
    assert {label for _, label in load(tmp_path)["train"]} == {"-1", "0", "1"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"text": "txt"}, "no column 'txt' .did you mean 'text'"),
        ({"val": "validation"}, "no split 'validation'.*train, test"),
        ({"hub": None}, "hub must be"),
        ({"val": "test"}, "different splits"),
        ({"held_out": 0.7}, "held_out"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, options: dict[str, Any], named: str) -> None:
    place(tmp_path)
    with pytest.raises(ValueError, match=named):
        load(tmp_path, **options)


def test_without_folder_and_network_both_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(FileNotFoundError, match=r"somebody/reviews.*somebody_reviews.*no network"):
        load(tmp_path)


def test_the_fingerprint_is_that_of_files_or_version(tmp_path: Path) -> None:
    def fingerprint(**options: Any) -> str:
        return HubTexts(data_dir=tmp_path, hub="somebody/reviews", **options).fingerprint()

    assert fingerprint(revision="a") != fingerprint(revision="b")
    place(tmp_path)
    assert fingerprint(revision="a") == fingerprint(revision="b")
    assert fingerprint(text="a") != fingerprint(text="b")
