"""Tatoeba: split by English sentence."""

import gzip
import logging
import os
import random
from pathlib import Path

import pytest

from data.core.splitting import sentence_key
from data.text.corpus import Pair
from data.text.tatoeba import Tatoeba

PAIRS = [
    (f"I saw number {n}.", f"Ich sah Nummer {n}, Satz {k}.") for n in range(200) for k in range(n % 3 + 1)
]


def place(folder: Path, pairs: list[Pair], *, packed: bool = True, rest: str = "") -> None:
    (folder / "tatoeba_en_de").mkdir(parents=True, exist_ok=True)
    content = "".join(f"{english}\t{german}{rest}\n" for english, german in pairs).encode()
    name = "deu.txt.gz" if packed else "deu.txt"
    (folder / "tatoeba_en_de" / name).write_bytes(gzip.compress(content) if packed else content)


def load(folder: Path, **options: str) -> dict[str, list[Pair]]:
    return Tatoeba(data_dir=folder, held_out=0.1, **options).load()


def test_no_english_sentence_is_in_two_splits(tmp_path: Path) -> None:
    place(tmp_path, [*PAIRS, ("I SAW number 3!", "Drei habe ich gesehen.")])
    splits = load(tmp_path)
    keys = [{sentence_key(english) for english, _ in pairs} for pairs in splits.values()]
    assert all(keys)
    assert sum(map(len, keys)) == len(set.union(*keys)) == 200


def test_the_order_of_the_file_does_not_matter(tmp_path: Path) -> None:
    place(tmp_path / "a", PAIRS)
    place(tmp_path / "b", random.Random(1).sample(PAIRS, len(PAIRS)), packed=False, rest="\tCC-BY 2.0")
    one, other = load(tmp_path / "a"), load(tmp_path / "b")
    assert one["val"] == other["val"]
    assert one["test"] == other["test"]
    assert sorted(one["train"]) == sorted(other["train"])


def test_held_out_sentences_stand_once_and_nothing_of_them_is_trained_on(tmp_path: Path) -> None:
    _, german = load_one(tmp_path / "first", PAIRS)["test"][0]
    other = [(f"Another {n}.", german) for n in range(200)]
    splits = load_one(tmp_path / "second", PAIRS + other)
    held_out = splits["val"] + splits["test"]
    for side in (0, 1):
        keys = [sentence_key(pair[side]) for pair in held_out]
        assert len(set(keys)) == len(keys)
    assert sentence_key(german) in {sentence_key(pair[1]) for pair in held_out}
    assert sentence_key(german) not in {sentence_key(pair[1]) for pair in splits["train"]}


def load_one(folder: Path, pairs: list[Pair]) -> dict[str, list[Pair]]:
    place(folder, pairs)
    return load(folder)


def test_all_that_is_left_out_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place(tmp_path, PAIRS + PAIRS[:5])
    with caplog.at_level(logging.INFO, logger="data.text.tatoeba"):
        splits = load(tmp_path)
    assert f"of {len(PAIRS) + 5} pairs 5 are repeated" in caplog.text
    left_out = len(PAIRS) - sum(map(len, splits.values()))
    assert left_out > 0
    assert f"{left_out} are further translations in val and test, and 0 German" in caplog.text


def test_both_directions_have_the_same_splits(tmp_path: Path) -> None:
    place(tmp_path, PAIRS)
    forth, back = load(tmp_path), load(tmp_path, source="de", target="en")
    assert {split: [(b, a) for a, b in pairs] for split, pairs in back.items()} == forth
    assert Tatoeba(data_dir=tmp_path, source="de", target="en").languages == ("de", "en")


def test_a_missing_file_is_named_with_its_place_and_source(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"tatoeba_en_de has neither deu\.txt\.gz nor .*manythings\.org"
    ):
        Tatoeba(data_dir=tmp_path).check_files()


def test_mistakes_name_file_and_line(tmp_path: Path) -> None:
    place(tmp_path, [*PAIRS, ("no German", "")])
    with pytest.raises(ValueError, match=rf"deu\.txt\.gz, line {len(PAIRS) + 1} lacks source or target"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "fr"}, "^target must be en or de, got fr"),
        ({"source": "de"}, "source and target are both de"),
        ({"held_out": 0.5}, "held_out must be .* got 0.5"),
    ],
)
def test_senseless_values(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tatoeba(data_dir=".", **options)


@pytest.mark.real_data
def test_the_published_file() -> None:
    splits = Tatoeba(data_dir=os.environ["ZOO_DATA_DIR"]).load()
    assert {split: len(pairs) for split, pairs in splits.items()} == {
        "train": 165_409,
        "val": 1_334,
        "test": 1_358,
    }
    for side in (0, 1):
        train = {sentence_key(pair[side]) for pair in splits["train"]}
        held_out = [sentence_key(pair[side]) for pair in splits["val"] + splits["test"]]
        assert len(set(held_out)) == len(held_out)
        assert not train & set(held_out)
