"""Pairs from sets of `datasets`, from a local folder; none comes from a network here."""

import logging
from itertools import chain
from pathlib import Path
from typing import Any

import datasets
import pytest

from data.text.hub_pairs import HubPairs

pytestmark = pytest.mark.usefixtures("private_cache")


def place(folder: Path, rows: list[tuple[Any, ...]], answer: Any) -> None:
    """Writes rows of left, right, answer and group as a train split, the first four as a test split."""
    (folder / "pairs").mkdir()
    kinds = {"a": datasets.Value("string"), "b": datasets.Value("string"), "same": answer}
    features = datasets.Features(kinds | {"question": datasets.Value("int64")})
    for split, own in (("train", rows), ("test", rows[:4])):
        columns = dict(zip(features, map(list, zip(*own, strict=True)), strict=True))
        datasets.Dataset.from_dict(columns, features).to_parquet(folder / "pairs" / f"{split}.parquet")


def load(folder: Path, **options: Any) -> dict[str, list[tuple[Any, ...]]]:
    given = {"hub": "somebody/pairs", "left": "a", "right": "b", "answer": "same"} | options
    return {split: list(rows) for split, rows in HubPairs(data_dir=folder, **given).load().items()}


NAMES = datasets.ClassLabel(names=["no", "yes"])
ROWS = [(f"left {n // 2}", f"right {n}", n % 2, n // 2) for n in range(60)]


def test_classes_have_names_and_a_left_text_is_in_one_split(tmp_path: Path) -> None:
    place(tmp_path, ROWS, NAMES)
    splits = load(tmp_path, test=None, held_out=0.2)
    assert sorted(chain(*splits.values())) == sorted((a, b, ("no", "yes")[c]) for a, b, c, _ in ROWS)
    lefts = [{left for left, *_ in rows} for rows in splits.values()]
    assert all(lefts)
    assert sum(map(len, lefts)) == 30


def test_groups_and_rows_that_lack_something(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place(
        tmp_path, [*ROWS, ("left", None, 1, 99), ("left", " ", 1, 99), ("unlabelled", "right", -1, 99)], NAMES
    )
    with caplog.at_level(logging.WARNING):
        splits = load(tmp_path, group="question")
    assert splits["test"][2:] == [("left 1", "right 2", "no", 1), ("left 1", "right 3", "yes", 1)]
    assert "3 rows lack" in caplog.text
    assert load(tmp_path, group="a")["test"] == splits["test"], "the left text as the group"


def test_degrees(tmp_path: Path) -> None:
    place(tmp_path, [(a, b, 2.5, c) for a, b, _, c in ROWS], datasets.Value("float64"))
    assert load(tmp_path, degrees=[0, 5])["test"][0] == ("left 0", "right 0", 2.5)
    with pytest.raises(
        ValueError, match=r"split (train|test) of .*pairs: 'same' must be a number from 0 to 2"
    ):
        load(tmp_path, degrees=[0, 2])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"left": "A"}, "no column 'A'.*a, b, same, question"),
        ({"val": "validation"}, "no split 'validation'.*train, test"),
        ({"hub": None}, "hub must be"),
        ({"held_out": 0.7}, "held_out"),
        ({"labels": ["no", "maybe"]}, "must be one of no, maybe, got 'yes'"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, options: dict[str, Any], named: str) -> None:
    place(tmp_path, ROWS, NAMES)
    with pytest.raises(ValueError, match=named):
        load(tmp_path, **options)
