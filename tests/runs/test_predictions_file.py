"""predictions.jsonl: one line per test item."""

import json
from pathlib import Path

import pytest

from zoo.runs import files
from zoo.runs.predictions import write_predictions


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
