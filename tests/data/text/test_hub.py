"""Published sets: local files of their layout, and what is said when there is neither file nor network."""

import json
import logging
import re
from pathlib import Path
from typing import Any

import datasets
import pytest

from data.text.corpus import Pair
from data.text.hub import HubCorpus

PUBLISHED = {"hub": "someone/some_set", "folder": "en-vi", "revision": "main"}
ROWS = [("a man", "một người"), ("two", "hai"), ("three", "ba")]


pytestmark = pytest.mark.usefixtures("private_cache")


def corpus(folder: Path, **options: Any) -> HubCorpus:
    settings: dict[str, Any] = {"name": "talks", "source": "en", "target": "vi", **PUBLISHED}
    return HubCorpus(data_dir=folder, **settings | options)


def place(
    folder: Path, *, rows: list[Pair] = ROWS, parquet: bool = True, column: str = "translation"
) -> Path:
    place = folder / "talks"
    place.mkdir(parents=True)
    for split, pairs in (("train", rows), ("validation", rows[::-1]), ("test", rows[1:])):
        table = datasets.Dataset.from_list([{column: {"en": en, "vi": vi}} for en, vi in pairs])
        if parquet:
            table.to_parquet(place / f"{split}-00000-of-00001.parquet")
        else:
            content = "".join(f"{json.dumps(row)}\n" for row in table)
            (place / f"{split}.jsonl").write_text(content, encoding="utf-8")
    return place


def load(corpus: HubCorpus) -> dict[str, list[Pair]]:
    return {split: list(pairs) for split, pairs in corpus.load().items()}


@pytest.mark.parametrize("parquet", [True, False])
def test_local_files_of_the_published_layout(tmp_path: Path, parquet: bool) -> None:
    place(tmp_path, parquet=parquet)
    assert load(corpus(tmp_path)) == {"train": ROWS, "val": ROWS[::-1], "test": ROWS[1:]}
    back = corpus(tmp_path, source="vi", target="en")
    assert back.languages == ("vi", "en")
    assert load(back)["train"] == [(vi, en) for en, vi in ROWS]


def test_pairs_with_a_blank_side_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place(tmp_path, rows=[ROWS[0], ("", "x"), ("y", " "), ROWS[1]])
    with caplog.at_level(logging.WARNING, logger="data.text.hub"):
        assert load(corpus(tmp_path))["train"] == ROWS[:2]
    assert "talks, split train: 2 pairs with a blank side are left out" in caplog.text


def test_characters_written_as_html_does(tmp_path: Path) -> None:
    place(tmp_path, rows=[("I &apos;d say &quot;A &amp; B&#93;", "&lt;"), ("&#160;", "x")])
    assert load(corpus(tmp_path))["train"][0] == ("I &apos;d say &quot;A &amp; B&#93;", "&lt;")
    assert load(corpus(tmp_path, unescape=True))["train"] == [("I 'd say \"A & B]", "<")]
    assert corpus(tmp_path).fingerprint() != corpus(tmp_path, unescape=True).fingerprint()


def test_the_set_of_the_hub_is_asked_for_as_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load_dataset(path: str, **options: str) -> datasets.DatasetDict:
        asked.append({"hub": path, **options})
        table = datasets.Dataset.from_list([{"translation": {"en": en, "vi": vi}} for en, vi in ROWS])
        return datasets.DatasetDict(train=table, validation=table.select([0]), test=table)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert load(corpus(tmp_path))["test"] == ROWS
    assert asked == [{"hub": "someone/some_set", "data_dir": "en-vi", "revision": "main"}]


@pytest.mark.parametrize(
    ("translation", "said"),
    [
        ("a man", "has no en and no vi in a column translation"),
        (["a man"], "has no en and no vi in a column translation"),
        ({"en": 1, "vi": 2}, "holds other than text: {'en': 1, 'vi': 2}"),
    ],
)
def test_a_column_of_another_kind(tmp_path: Path, translation: object, said: str) -> None:
    (tmp_path / "talks").mkdir()
    for count, split in enumerate(("train", "validation", "test"), start=1):
        line = json.dumps({"translation": translation}) + "\n"
        (tmp_path / "talks" / f"{split}.jsonl").write_text(line * count, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(said)):
        load(corpus(tmp_path))


def test_neither_file_nor_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(path: str, **options: str) -> None:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(FileNotFoundError) as error:
        corpus(tmp_path).load()
    assert str(error.value) == (
        f"talks is neither in {tmp_path}/talks (Parquet or JSON lines, a file or folder for each of train,"
        " validation, test, a column translation with en and vi), nor could it be had from the Hugging Face"
        " hub (someone/some_set, en-vi, main): no route"
    )


def test_another_layout_is_described(tmp_path: Path) -> None:
    place(tmp_path / "a")
    with pytest.raises(
        ValueError, match=r"split train of .*talks has no fr in a column translation; it has en, vi"
    ):
        corpus(tmp_path / "a", target="fr").load()
    place(tmp_path / "b", column="pair")
    with pytest.raises(ValueError, match=r"has no en and no vi in a column translation; it has pair"):
        corpus(tmp_path / "b").load()
    (place(tmp_path / "c") / "validation-00000-of-00001.parquet").unlink()
    with pytest.raises(ValueError, match=r"talks has no split validation; it has train, test"):
        corpus(tmp_path / "c").load()
    (place(tmp_path / "d") / "train-00000-of-00001.parquet").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="talks cannot be read: "):
        corpus(tmp_path / "d").load()


def test_the_fingerprint_follows_content_and_version(tmp_path: Path) -> None:
    assert corpus(tmp_path).fingerprint() != corpus(tmp_path, revision="other").fingerprint()
    place(tmp_path)
    first = corpus(tmp_path).fingerprint()
    assert first == corpus(tmp_path, revision="other").fingerprint()
    assert first != corpus(tmp_path, source="vi", target="en").fingerprint()
    (tmp_path / "talks" / "test-00000-of-00001.parquet").write_bytes(b"other")
    assert first != corpus(tmp_path).fingerprint()


def test_one_language_twice() -> None:
    with pytest.raises(ValueError, match="both en"):
        corpus(Path(), target="en")
