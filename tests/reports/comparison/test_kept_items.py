"""What results keep of single test items: as exact as predictions, short, and used in their place."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import TARGETS, edit, items, make_run

from zoo.metrics import ITEM_SCORES
from zoo.metrics.item_scores import UNIT
from zoo.metrics.kept_items import kept_items, pack, read_kept
from zoo.reports.comparison.comparison import Comparison, Question
from zoo.reports.comparison.comparison import compare as compare_runs
from zoo.reports.runs import find_runs
from zoo.runs.predictions import read_split, write_predictions


def compare(*paths: Path, **asked: Any) -> Comparison:
    return compare_runs(find_runs(paths), Question(**{"samples": 50, **asked}))


def kept(run: Path, folder: Path) -> Path:
    """The results of a run, kept without its predictions."""
    results = json.loads((run / "results.json").read_text())
    results["item_scores"] = kept_items(results, read_split(run / "predictions.jsonl", "test"))
    results["overrides"] = [f"attention={run.name}"]
    folder.mkdir(exist_ok=True)
    path = folder / f"{run.name}.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return make_run(tmp_path / "dot", "Dot", right=6), make_run(tmp_path / "additive", "Additive", right=15)


DRAW = np.random.default_rng(1)
RIGHT = DRAW.integers(0, 2, (1000, 1))


@pytest.mark.parametrize(
    ("statistics", "most"),
    [
        pytest.param(np.hstack([RIGHT * UNIT, np.ones_like(RIGHT)]), 300, id="right or wrong"),
        pytest.param(np.hstack([RIGHT * 0, np.ones_like(RIGHT)]), 60, id="all wrong"),
        pytest.param(DRAW.integers(0, 12, (1000, 10)), 8192, id="n-grams"),
        pytest.param(DRAW.integers(-300, 300, (1000, 2)), 5000, id="below zero"),
        pytest.param(np.array([[2**62, 1], [3, 1]]), 100, id="large"),
    ],
)
def test_as_exact_as_predictions_and_short(statistics: np.ndarray, most: int) -> None:
    packed = pack(statistics, len(statistics))
    assert packed is not None
    assert len(packed.data) <= most
    again = read_kept({"item_scores": {"own": json.loads(json.dumps(asdict(packed)))}}, "own")
    assert again is not None
    np.testing.assert_array_equal(again.statistics, statistics)


def test_what_would_be_long_is_not_kept() -> None:
    assert pack(DRAW.integers(0, 2**40, (2000, 2)), 2000) is None
    assert pack(np.empty((0, 2), np.int64), 0) is None


def test_kept_results_are_compared_item_by_item(pair: tuple[Path, Path], tmp_path: Path) -> None:
    of_runs = compare(*pair).rows[1].items
    files = [kept(run, tmp_path / "results") for run in pair]
    found = compare(*files)
    assert found.rows[1].items == of_runs
    assert of_runs is not None
    assert of_runs.p < 0.05
    assert any("paired bootstrap over 20 items" in note for note in found.notes)
    assert not any("no p" in note for note in found.notes)
    assert compare(files[0], pair[1]).rows[1].items == of_runs, "beside a run"


def test_of_a_run_that_keeps_them_no_predictions_are_read(pair: tuple[Path, Path], tmp_path: Path) -> None:
    found = compare(*pair).rows[1].items
    for run in pair:
        results = json.loads((run / "results.json").read_text())
        edit(run, item_scores=kept_items(results, read_split(run / "predictions.jsonl", "test")))
        (run / "predictions.jsonl").unlink()
    assert compare(*pair).rows[1].items == found


def test_items_that_may_be_others_are_compared_by_predictions_alone(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    file = kept(pair[0], tmp_path / "results")
    other = [*TARGETS[1:], TARGETS[0]]
    write_predictions(tmp_path / "other", {"test": items(other, other)})
    found = compare(file, tmp_path / "other")
    assert found.rows[1].items is None
    assert any(f"{file} has no predictions.jsonl" in note for note in found.notes)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"data": "eJwD"}, "damaged"),
        ({"data": "é"}, "damaged"),
        ({"units": [1, 1, 1]}, "damaged"),
        ({"units": [3, 1]}, "score 2.2500, results.json says 0.7500"),
        ({"units": []}, "item_scores/exact_match/units"),
        ({"type": "object"}, "item_scores/exact_match/type"),
        ({"predictions": 19}, "its predictions are of 19 of 20 test items"),
    ],
)
def test_what_is_damaged_is_named_and_stops_no_comparison(
    pair: tuple[Path, Path], tmp_path: Path, damage: dict[str, Any], said: str
) -> None:
    first, second = (kept(run, tmp_path / "results") for run in pair)
    content = json.loads(second.read_text())
    content["item_scores"]["exact_match"] |= damage
    second.write_text(json.dumps(content))
    found = compare(first, second)
    assert found.rows[1].items is None
    assert any(str(second) in note and said in note for note in found.notes), found.notes


def test_numbers_of_another_count_of_sums_are_named(pair: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = (kept(run, tmp_path / "results") for run in pair)
    content = json.loads(second.read_text())
    wide = pack(np.array([[1, 1, 1]] * 15 + [[0, 1, 1]] * 5), 20)
    content["item_scores"]["exact_match"] = asdict(wide) if wide else {}
    second.write_text(json.dumps(content))
    found = compare(first, second)
    assert found.rows[1].items is None
    assert any("(20, 3), those of" in note for note in found.notes), found.notes


def test_scores_in_another_language_come_from_predictions(tmp_path: Path) -> None:
    """With `--language` texts are cut into other words."""
    signed = {"bleu_tok_lc": "nrefs:1|case:lc|eff:no|tok:none|smooth:exp|moses:de|version:2"}
    metrics = {"bleu_tok_lc": {"better": "max", "headline": True, "items": "bleu_tok_lc"}}
    score = ITEM_SCORES["bleu_tok_lc"]
    lines = items(TARGETS)
    value = (scorer := score.scorer("de")).score(score.statistics(scorer, lines).sum(axis=0).tolist())
    said = {"signatures": signed, "metrics": metrics, "test": {"bleu_tok_lc": value}}
    said |= {"checkpoint": {"metric": "val/bleu_tok_lc"}}
    runs = [
        make_run(tmp_path / name.lower(), name, right=20, **said, item_scores={})
        for name in ("Dot", "Additive")
    ]
    files = [kept(run, tmp_path / "results") for run in runs]
    assert compare(*files).rows[1].items is not None
    assert compare(*files, language="de").rows[1].items is not None
    assert compare(*files, language="en").rows[1].items is None
