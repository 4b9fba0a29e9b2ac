"""predictions.jsonl: what the model said about every test item."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.runs.files import write_text


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
    write_text(Path(folder) / "predictions.jsonl", "".join(f"{line}\n" for line in lines))
