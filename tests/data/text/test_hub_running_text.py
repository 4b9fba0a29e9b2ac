"""Running text of `datasets`, from a local folder; none comes from a network here."""

from pathlib import Path

import datasets
import pytest

from data.text.running.hub import HubRunningText

ROWS = [f"A story\nof {number} lines.\n" for number in range(20)]


@pytest.fixture(autouse=True)
def stories(tmp_path: Path, private_cache: None) -> Path:
    (tmp_path / "stories").mkdir()
    table = datasets.Dataset.from_dict({"story": [*ROWS, " ", None], "number": list(range(22))})
    table.to_parquet(tmp_path / "stories" / "train.parquet")
    return tmp_path


def test_each_row_that_is_not_blank_is_a_document_as_it_stands(stories: Path) -> None:
    corpus = HubRunningText(
        data_dir=stories, hub="somebody/stories", text="story", test=None, held_out=0.2, language="en"
    )
    splits = {split: list(rows) for split, rows in corpus.load().items()}
    assert sorted(text for rows in splits.values() for (text,) in rows) == sorted(ROWS)
    assert len(splits["val"]) == len(splits["test"]) == 4
    assert list(corpus.columns) == ["text"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"text": "storey", "test": None}, "no column 'storey' .did you mean 'story'"),
        ({"text": "story"}, "no split 'test'"),
        ({"text": "number", "test": None}, "number is no text: 0|number is no text: 1"),
    ],
)
def test_what_is_not_there_is_named(stories: Path, options: dict[str, str], named: str) -> None:
    corpus = HubRunningText(data_dir=stories, hub="somebody/stories", **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=named):
        _ = [list(rows) for rows in corpus.load().values()]
