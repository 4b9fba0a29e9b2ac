"""predictions.jsonl: what the model said about every test item."""

import json
import os
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from zoo.core.files import write_text
from zoo.core.problems import unknown
from zoo.core.reading import unpacked_lines
from zoo.training.checkpoint import nearest

_NAME = "predictions.jsonl"
_KEYS = {"split": str, "id": int, "input": str, "references": list, "prediction": str}


def write_predictions(folder: Path, predictions: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Writes one line per item: split, id, input, references, prediction, score, finished.

    Args:
        folder: the run's folder.
        predictions: the items of each test split, in order of their id.
    """
    lines = [
        json.dumps({"split": split, **item}, ensure_ascii=False)
        for split, items in predictions.items()
        for item in items
    ]
    write_text(Path(folder) / _NAME, "".join(f"{line}\n" for line in lines))


def find_predictions(run: Path) -> Path:
    """The file that a run's folder, or a path to a file, means.

    Raises:
        ValueError: there is none.
    """
    if not os.path.exists(run):  # unlike `Path.exists`, for names of any length
        raise ValueError(f"{run} does not exist{nearest(run)}")
    if run.is_dir() and not (run / _NAME).is_file():
        raise ValueError(f"{run} has no {_NAME}: it is no run's folder, or the run was not tested")
    return run / _NAME if run.is_dir() else run


def read_predictions(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Reads the items of every split, in order of their id.

    Args:
        path: the file.

    Raises:
        ValueError: a line is damaged, or no line of a text; the message names it and says what is wrong.
    """
    splits: dict[str, dict[int, dict[str, Any]]] = {}
    for number, line in enumerate(unpacked_lines(path), start=1):
        try:
            item = _parsed(line)
            _check(item)
            items = splits.setdefault(item["split"], {})
            if item["id"] in items:
                raise ValueError(f"the split {item['split']} has the id {item['id']} already")
        except (ValueError, RecursionError) as error:
            reason = f"no JSON ({error})" if isinstance(error, json.JSONDecodeError) else str(error)
            raise ValueError(f"{path}, line {number} is damaged: {reason}") from error
        items[item["id"]] = item
    return {split: [items[number] for number in sorted(items)] for split, items in splits.items()}


def read_split(path: Path, split: str) -> list[dict[str, Any]]:
    """The items of one split, in order of their id.

    Args:
        path: a predictions.jsonl.
        split: such as `test`.

    Raises:
        ValueError: there is no such split, or a line is damaged.
    """
    splits = read_predictions(path)
    if not splits:
        raise ValueError(f"{path} is empty")
    if split not in splits:
        raise ValueError(f"{path} has no split {split!r}{unknown(split, splits)}")
    return splits[split]


def require_same_items(
    first: tuple[Path, Sequence[Mapping[str, Any]]],
    other: tuple[Path, Sequence[Mapping[str, Any]]],
    together: str = "",
) -> None:
    """Refuses to compare what was predicted for other items.

    Args:
        first: a file and its items, in order of their id.
        other: another.
        together: a further key that must have the same values; empty for none.

    Raises:
        ValueError: ids, inputs, references or that key differ; the message names the first difference.
    """
    keys = ("input", "references", *([together] if together else []))
    shown = itemgetter("id", *keys)
    if list(map(shown, first[1])) == list(map(shown, other[1])):
        return
    files = f"{first[0]} and {other[0]} hold other test items"
    here, there = ({item["id"]: item for item in items} for _, items in (first, other))
    for number in sorted(here.keys() | there.keys()):
        if number not in here or number not in there:
            lacking = first[0] if number not in here else other[0]
            sizes = f"{len(here):,} and {len(there):,} of them"
            raise ValueError(f"{files} ({sizes}): {lacking} has none with id {number}")
        for key in keys:
            ours, theirs = here[number][key], there[number][key]
            if ours != theirs:
                raise ValueError(
                    f"{files}: the {key} of id {number} is {ours!r} in one and {theirs!r} in the other"
                )


def _parsed(line: bytes) -> Any:
    """A line's value, by a parser that is three times as fast as Python's where that is enough.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line)  # which says where a line is damaged, and takes halves of characters


def _check(item: Any) -> None:
    """Raises ValueError unless an item has what a comparison reads."""
    if type(item) is dict and all(map(isinstance, map(item.get, _KEYS), _KEYS.values())):
        texts = item["references"]
        if texts and all(type(text) is str for text in texts):
            return  # of a million items nearly all are whole
    if not isinstance(item, dict):
        raise ValueError(f"an object is needed, got {type(item).__name__}")
    for key, kind in _KEYS.items():
        if key not in item:
            raise ValueError(f"it lacks {key!r}")
        if not isinstance(item[key], kind):
            raise ValueError(f"{key!r} must be {kind.__name__}, got {item[key]!r}")
    if not item["references"] or not all(isinstance(text, str) for text in item["references"]):
        raise ValueError(f"'references' must be texts, at least one, got {item['references']!r}")
