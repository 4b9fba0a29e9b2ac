"""predictions.jsonl: one line per test item."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoo.core import files
from zoo.runs.predictions import (
    find_predictions,
    read_predictions,
    read_split,
    require_same_items,
    write_predictions,
)


def _item(number: int) -> dict[str, object]:
    return {
        "id": number,
        "input": "ü\n",
        "references": ["a"],
        "prediction": "b",
        "score": -1.5,
        "finished": True,
    }


def test_one_line_per_item_of_every_split(tmp_path: Path) -> None:
    write_predictions(tmp_path, {"test": [_item(0), _item(1)], "test_unseen_formats": [_item(0)]})
    lines = (tmp_path / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert "ü" in lines[0], "for people, too"
    assert [json.loads(line) for line in lines] == [
        {"split": "test", **_item(0)},
        {"split": "test", **_item(1)},
        {"split": "test_unseen_formats", **_item(0)},
    ]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_predictions(tmp_path, {"test": [_item(0)]})
    before = (tmp_path / "predictions.jsonl").read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(OSError, match=r"no space left to write .*predictions\.jsonl"):
        write_predictions(tmp_path, {"test": [_item(0)] * 100})
    assert (tmp_path / "predictions.jsonl").read_bytes() == before


def test_what_was_written_is_read_back_in_order(tmp_path: Path) -> None:
    written = {"test": [_item(2), _item(0), _item(10)], "test_unseen_formats": [_item(0)]}
    write_predictions(tmp_path, written)
    path = find_predictions(tmp_path)
    assert find_predictions(path) == path == tmp_path / "predictions.jsonl"
    read = read_predictions(path)
    assert [item["id"] for item in read["test"]] == [0, 2, 10]
    assert read["test_unseen_formats"] == [{"split": "test_unseen_formats", **_item(0)}]
    assert read_split(path, "test") == read["test"]


GOOD = json.dumps({"split": "test", **_item(0)})


@pytest.mark.hostile("run file")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (GOOD[:-9], "no JSON"),
        ("", "no JSON"),
        ("[" * 100_000, "recursion"),
        ('{"split": "\xff"}', "utf-8"),
        ("[1]", "an object is needed, got list"),
        (json.dumps({"split": "test"}), "it lacks 'id'"),
        (json.dumps({**json.loads(GOOD), "id": "1"}), "'id' must be int, got '1'"),
        (json.dumps({**json.loads(GOOD), "references": []}), "'references' must be texts, at least one"),
        (json.dumps({**json.loads(GOOD), "references": [1]}), "'references' must be texts, at least one"),
        (json.dumps({**json.loads(GOOD), "prediction": None}), "'prediction' must be str, got None"),
        (GOOD, "the split test has the id 0 already"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(f"{GOOD}\n{line}\n".encode("latin-1"))
    with pytest.raises(ValueError, match=rf"(?i)a\.jsonl, line 2 is damaged: .*{message}"):
        read_predictions(path)


def test_files_and_splits_that_are_not_there(tmp_path: Path) -> None:
    write_predictions(tmp_path / "run", {"test": [_item(0)], "test_2017": [_item(0)]})
    with pytest.raises(ValueError, match=rf"rum does not exist; did you mean {tmp_path}/run\?"):
        find_predictions(tmp_path / "rum")
    with pytest.raises(ValueError, match=r"has no predictions\.jsonl: it is no run's folder, or"):
        find_predictions(tmp_path)
    path = tmp_path / "run" / "predictions.jsonl"
    with pytest.raises(
        ValueError, match=r"has no split 'test_2071'; did you mean test_2017\? allowed: test, test_2017"
    ):
        read_split(path, "test_2071")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(ValueError, match=r"empty\.jsonl is empty"):
        read_split(tmp_path / "empty.jsonl", "test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input": "u"}, r"the input of id 1 is 'ü\\n' in one and 'u' in the other"),
        (
            {"references": ["a", "b"]},
            r"the references of id 1 is \['a'\] in one and \['a', 'b'\] in the other",
        ),
        ({"id": 5}, r"\(3 and 3 of them\): b has none with id 1"),
    ],
)
def test_other_items_are_refused_with_the_first_difference(change: dict[str, Any], message: str) -> None:
    items = [_item(number) for number in range(3)]
    other = [items[0], {**items[1], **change}, items[2]]
    with pytest.raises(ValueError, match=f"a and b hold other test items.*{message}"):
        require_same_items((Path("a"), items), (Path("b"), other))


def test_other_predictions_and_orders_are_the_same_items() -> None:
    items = [_item(number) for number in range(3)]
    other = [{**item, "prediction": "c", "score": 0.0} for item in items]
    require_same_items((Path("a"), items), (Path("b"), other[::-1]))
    with pytest.raises(ValueError, match=r"\(3 and 2 of them\): b has none with id 2"):
        require_same_items((Path("a"), items), (Path("b"), other[:2]))


def test_what_only_the_slower_parser_takes_is_read_too(tmp_path: Path) -> None:
    """Half of a character is no UTF-8, but a prediction may end within one; NaN is a score of nothing."""
    path = tmp_path / "predictions.jsonl"
    line = (
        r'{"split": "test", "id": 0, "input": "\ud83d", "references": ["a"], "prediction": "b", "score": NaN}'
    )
    path.write_text(f"{line}\n")
    (read,) = read_split(path, "test")
    assert read["input"] == "\ud83d"
    assert read["score"] != read["score"]
