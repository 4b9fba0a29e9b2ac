"""What the page shows, as plain containers."""

import base64
from collections.abc import Sequence, Sized
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image
from pydantic import TypeAdapter, ValidationError

from zoo.core.reading import read_json, require_regular
from zoo.figures.shown import Matrix, Shown
from zoo.reports.comparison import table
from zoo.reports.comparison.comparison import Comparison, Row
from zoo.reports.comparison.curves import bands, kept_curve, read_curves
from zoo.reports.comparison.refusal import comparability_errors
from zoo.reports.comparison.search import search_data
from zoo.runs.predictions import read_split

_SAMPLES, _LONGEST = 24, 600
"""Test items whose predictions are shown, and characters of a text."""
_PICTURE_BYTES = 6 * 2**20
"""Pictures that a page holds, in all: of the baseline first, then of the best groups."""
_SHOWN: TypeAdapter[list[Shown]] = TypeAdapter(list[Shown])


def page_data(comparison: Comparison) -> dict[str, Any]:
    """Everything that the page shows.

    Args:
        comparison: of runs whose folders may hold curves, predictions and pictures; what is damaged is left
            out, and a note says so.
    """
    names = [row.group.label for row in comparison.rows]
    comparison = comparison.named_shortly
    notes = table.notes(comparison, complete=True, mark="Bold and green:")
    name, *others = table.columns(comparison, complete=True)
    # What was measured comes first; what was set can be folded away.
    shown = [name, *sorted(others, key=lambda column: (column.is_setting, column.head != comparison.metric))]
    order = _order(comparison)
    curves = _curves(comparison.rows, notes)
    samples = _samples(comparison, notes)
    pictures = _pictures(comparison, order, notes)
    return {
        "metric": comparison.metric,
        "split": comparison.question.split,
        "dataSet": comparison.data_set,
        "baseline": comparison.rows.index(comparison.baseline),
        "higherIsBetter": comparison.metrics[comparison.metric].higher_is_better,
        "labels": [row.group.label for row in comparison.rows],
        "names": names,
        "runs": sum(len(row.group.runs) for row in comparison.rows),
        "columns": [column._asdict() for column in shown],
        "order": order,
        "settings": {
            key: [row.group.settings.get(key, "") for row in comparison.rows] for key in comparison.settings
        },
        "costs": {
            column.head: {
                "moreIsBetter": column.higher_is_better,
                "values": [
                    row.costs[name].mean * column.scale if name in row.costs else None
                    for row in comparison.rows
                ],
            }
            for name, column in comparison.costs.items()
            if (comparison.one_machine or name == "parameters")
            and any(name in row.costs for row in comparison.rows)
        },
        "search": search_data(comparison),
        "scores": [_score(row, comparison.metric) for row in comparison.rows],
        "curves": curves,
        "samples": samples,
        "pictures": pictures,
        "notes": notes,
        "leftOut": [[run.state, str(run.path), run.left_out] for run in comparison.left_out],
    }


def _order(comparison: Comparison) -> list[int]:
    """The baseline, then the others from the best to the worst."""
    rows, metric = comparison.rows, comparison.metric
    sign = -1 if comparison.metrics[metric].higher_is_better else 1
    first = rows.index(comparison.baseline)
    others = [number for number in range(len(rows)) if number != first]
    return [first, *sorted(others, key=lambda number: sign * rows[number].scores[metric].mean)]


def _score(row: Row, metric: str) -> dict[str, Any]:
    found = row.scores[metric]
    if found.n == 2:  # its interval would be wider than the picture
        return {"mean": found.mean, "low": found.least, "high": found.most}
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _curves(rows: Sequence[Row], notes: list[str]) -> dict[str, list[dict[str, Any] | None]]:
    """By metric, a band for each row that has one."""
    found = []
    for row in rows:
        of_seeds = []
        for run in row.group.runs:
            path = run.path / "metrics.csv"
            try:
                of_seeds.append(read_curves(path) if path.is_file() else kept_curve(run.results))
            except (OSError, ValueError) as error:
                notes.append(f"no learning curve: {error}")
        found.append(bands(of_seeds))
    names = {name for of_row in found for name in of_row}
    runs = [run for row in rows for run in row.group.runs]
    hindered = {
        name: why for name in sorted(names) if (why := comparability_errors(runs, name.partition("/")[2]))
    }
    notes += [f"no curves of {name}: {'; '.join(why)}" for name, why in hindered.items()]
    return {
        name: [of_row[name]._asdict() if name in of_row else None for of_row in found]
        for name in sorted(names - hindered.keys(), key=lambda name: (not name.startswith("val/"), name))
    }


def _samples(comparison: Comparison, notes: list[str]) -> dict[str, Any]:
    """Predictions of a run of every group for the same items, spread evenly over the test set.

    It is the group's first run or, of folds, the first one on the fold that is shown.
    """
    chosen: list[int] = []
    fold: int | None = None
    inputs: list[dict[str, Any]] = []
    predictions: list[list[str | None] | None] = []
    for row in comparison.rows:
        runs = (one for one in row.group.runs if one.predictions and (not chosen or one.fold == fold))
        first = next(runs, None)
        path = first.predictions if first else None
        try:
            items = read_split(path, comparison.question.split) if path else []
        except (OSError, ValueError) as error:
            notes.append(f"no samples: {error}")
            items = []
        if not items:
            predictions.append(None)
            continue
        if not chosen:
            fold = first.fold if first else None
            number = min(_SAMPLES, len(items))
            spread = [items[part * len(items) // number] for part in range(number)]
            chosen = [item["id"] for item in spread]
            inputs = [
                {
                    "id": item["id"],
                    "input": _cut(item["input"]),
                    "references": [_cut(text) for text in item["references"]],
                }
                for item in spread
            ]
        said = {item["id"]: _cut(item["prediction"]) for item in items}
        predictions.append([said.get(number) for number in chosen])
    return {"items": inputs, "predictions": predictions}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _pictures(
    comparison: Comparison, order: Sequence[int], notes: list[str]
) -> dict[str, list[dict[str, Any] | None]]:
    """What a run of each group attended to at test, by the kind of picture: weights where it kept them.

    It is the group's first run or, of folds, the one on the fold of the baseline's: others have other items.
    """
    found: dict[str, list[dict[str, Any] | None]] = {}
    fold = comparison.rows[order[0]].group.runs[0].fold
    left, without = _PICTURE_BYTES, 0
    for number in order:
        runs = (run for run in comparison.rows[number].group.runs if run.fold == fold)
        run = next(runs, None)
        files = sorted((run.path / "figures").glob("*_test.png")) if run else []
        files = [data if (data := file.with_suffix(".json")).exists() else file for file in files]
        try:
            left -= sum(file.stat().st_size for file in files)
            if left < 0:
                without += bool(files)
                continue
            pictures = {file.stem.removesuffix("_test"): _picture(file) for file in files}
        except (OSError, ValueError) as error:
            notes.append(f"no pictures: {error}")
            continue
        for kind, picture in pictures.items():
            found.setdefault(kind, [None] * len(comparison.rows))[number] = picture
    if without:
        notes.append(
            f"pictures of {without} groups are not in this page: it holds {_PICTURE_BYTES >> 20} MiB"
        )
    return dict(sorted(found.items()))


def _picture(file: Path) -> dict[str, Any]:
    """What a figure shows: weights, or the picture as a data URI with its size in pixels.

    Raises:
        OSError: it cannot be read, or is no picture.
        ValueError: the weights are damaged.
    """
    if file.suffix == ".json":
        return {"shown": [asdict(one) for one in _weights(file)]}
    require_regular(file)
    with Image.open(file) as image:
        width, height = image.size
    content = base64.b64encode(file.read_bytes()).decode("ascii")
    return {"uri": f"data:image/png;base64,{content}", "width": width, "height": height}


def _weights(file: Path) -> list[Shown]:
    try:
        shown = _SHOWN.validate_python(read_json(file))
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(map(str, first["loc"]))
        raise ValueError(f"{file}: {where}: {first['msg']}") from error
    for one in shown:
        pairs: list[tuple[Sized, Sized]] = (
            [(one.rows, one.weights), *((one.columns, row) for row in one.weights)]
            if isinstance(one, Matrix)
            else [(sentence.words, sentence.shades) for sentence in one.sentences]
        )
        if any(len(labels) != len(values) for labels, values in pairs):
            raise ValueError(f"{file}: the numbers of labels and weights differ")
    return shown
