"""Data that is cross-validated: folds of one configuration are one row, and pairs fold by fold."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import edit, make_run
from PIL import Image
from scipy import stats

from zoo.reports.comparison import table
from zoo.reports.comparison.comparison import Comparison, Question
from zoo.reports.comparison.comparison import compare as compare_runs
from zoo.reports.comparison.page_data import page_data
from zoo.reports.runs import find_runs
from zoo.runs.predictions import write_predictions

FOLDS, ITEMS = 4, 10
RIGHT = {"Dot": [5, 6, 4, 7], "Additive": [7, 7, 6, 8]}
"""How many of its ten items a system gets right, fold by fold."""


def predictions(fold: int, right: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "input": f"item {number} of fold {fold}",
            "references": ["yes"],
            "prediction": "yes" if number < right else "no",
        }
        for number in range(ITEMS)
    ]


def make_fold(folder: Path, score: str, fold: int, seed: int = 1, more: int = 0, **results: Any) -> Path:
    """A run that was tested on one fold, whose vocabulary is that of the others."""
    right = RIGHT[score][fold] + more
    run = make_run(
        folder,
        score,
        seed,
        test={"exact_match": right / ITEMS},
        fold=fold,
        folds=FOLDS,
        test_hash=f"items of {fold}",
        vocabulary_hash=f"words of all but {fold}",
        **results,
    )
    write_predictions(run, {"test": predictions(fold, right)})
    status = json.loads((run / "status.json").read_text())
    typed = [*status["overrides"], f"data.fold={fold}"]
    (run / "status.json").write_text(json.dumps({**status, "overrides": typed}))
    return run


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Two scores on four folds, the folds of the second in another order."""
    for fold in range(FOLDS):
        make_fold(tmp_path / "sweep" / f"1_{fold}", "Dot", fold)
        make_fold(tmp_path / "sweep" / f"2_{9 - fold}", "Additive", fold)
    return tmp_path / "sweep"


def compare(*paths: Path, **asked: Any) -> Comparison:
    return compare_runs(find_runs(paths), Question(**{"samples": 300, **asked}))


def test_folds_are_one_row_and_pairs(sweep: Path) -> None:
    found = compare(sweep)
    assert [row.group.label for row in found.rows] == ["attention=dot", "attention=additive"]
    dot, additive = found.rows
    assert additive.group.folds == [0, 1, 2, 3]
    own, base = ([right / ITEMS for right in RIGHT[name]] for name in ("Additive", "Dot"))
    score = additive.scores["exact_match"]
    assert (score.n, score.mean, score.deviation) == (
        4,
        pytest.approx(0.7),
        pytest.approx(np.std(own, ddof=1)),
    )
    assert additive.seeds is not None
    assert additive.seeds.p == pytest.approx(stats.ttest_rel(own, base).pvalue)
    assert additive.seeds.seeds == (0, 1, 2, 3)
    assert dot.seeds is None


def test_each_fold_is_drawn_by_itself(sweep: Path) -> None:
    """By hand, on the same draws: the mean over folds of the difference on ten drawn items of each."""
    difference = compare(sweep, seed=5).rows[1].items
    generator = np.random.default_rng(5)
    drawn = np.zeros(300)
    for fold in range(FOLDS):
        gains = np.arange(ITEMS) < RIGHT["Additive"][fold], np.arange(ITEMS) < RIGHT["Dot"][fold]
        of_items = gains[0].astype(float) - gains[1]
        drawn += [of_items[generator.choice(ITEMS, size=ITEMS)].mean() / FOLDS for _ in range(300)]
    assert difference is not None
    assert difference.difference == pytest.approx(0.15)
    assert (difference.low, difference.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))
    assert difference.p == pytest.approx((np.sum(drawn <= 1e-9) + 1) / 301)


def test_seeds_of_a_fold_are_one_number(sweep: Path) -> None:
    """Three runs of fold 0 do not make it count thrice, nor the test believe in more than four folds."""
    for seed in (2, 3):
        make_fold(sweep / f"3_{seed}", "Dot", 0, seed, more=1)
    found = compare(sweep)
    dot, additive = found.rows
    own = [np.mean([5, 6, 6]) / 10, 0.6, 0.4, 0.7]
    assert (dot.scores["exact_match"].n, dot.scores["exact_match"].mean) == (4, pytest.approx(np.mean(own)))
    assert additive.seeds is not None
    assert additive.seeds.difference == pytest.approx(0.15), "of the runs of the same fold and seed"
    assert additive.items is not None
    assert additive.items.difference == pytest.approx(0.15)
    assert not found.left_out


def test_a_repeated_fold_counts_once(sweep: Path) -> None:
    make_fold(sweep / "9_again", "Dot", 2)
    (repeated,) = compare(sweep).left_out
    assert str(repeated.left_out).startswith("it repeats fold 2, seed 1 of ")


def test_missing_folds_are_named_and_the_others_are_compared(sweep: Path) -> None:
    (sweep / "2_7" / "results.json").unlink()
    (sweep / "2_7" / "predictions.jsonl").unlink()
    found = compare(sweep)
    assert "attention=additive: 3 of 4 folds; missing: 2" in found.notes
    seeds, items = found.rows[1].seeds, found.rows[1].items
    assert seeds is not None
    assert items is not None
    assert seeds.seeds == (0, 1, 3)
    assert (seeds.difference, items.difference) == (pytest.approx(0.4 / 3), pytest.approx(0.4 / 3))


def test_folds_and_a_test_split_are_not_equals(sweep: Path, tmp_path: Path) -> None:
    whole = make_run(tmp_path / "whole")
    with pytest.raises(ValueError, match=r"cross-validation .* differs: folds in .* but none in"):
        compare(sweep, whole)


def test_the_same_fold_has_the_same_items(sweep: Path) -> None:
    edit(sweep / "2_9", test_hash="others")
    with pytest.raises(ValueError, match=r"test_hash \(the test items of fold 0\) differs"):
        compare(sweep)
    edit(sweep / "2_9", test_hash="items of 0")
    other = predictions(0, 7)
    other[3]["input"] = "something else"
    write_predictions(sweep / "2_9", {"test": other})
    edit(sweep / "2_9", test_hash=None)
    edit(sweep / "1_0", test_hash=None)
    with pytest.raises(ValueError, match="the input of id 3 is"):
        compare(sweep)


def test_tables_speak_of_folds(sweep: Path) -> None:
    found = compare(sweep)
    heads = [column.head for column in table.columns(found)]
    assert {"n", "95 % (folds)", "p (folds)"} <= {*heads}
    notes = "\n".join(table.notes(found))
    assert "± standard deviation over n folds, with" in notes
    assert "paired t-test over folds 0, 1, 2, 3; two-sided" in notes
    assert "over 40 items of 4 folds, each drawn by itself" in notes
    assert "seeds" not in notes
    first, *_ = csv.DictReader(io.StringIO(table.comma_separated(found)))
    assert (first["seeds"], first["folds"]) == ("1", "0 1 2 3")
    assert "folds_p" in first


def test_the_page_shows_predictions_of_one_fold(sweep: Path) -> None:
    """A row without the fold that is shown has no predictions beside the others'."""
    (sweep / "2_9" / "predictions.jsonl").unlink()
    samples = page_data(compare(sweep))["samples"]
    assert all(item["input"].endswith("of fold 0") for item in samples["items"])
    assert samples["predictions"][0] is not None
    assert samples["predictions"][1] is None


def test_pictures_are_of_one_fold(sweep: Path) -> None:
    """The second score was not run on the first fold, whose pictures the baseline has."""
    shutil.rmtree(sweep / "2_9")
    for folder in sweep.iterdir():
        (folder / "figures").mkdir()
        Image.new("L", (7, 5)).save(folder / "figures" / "texts_test.png")
    shown = page_data(compare(sweep))["pictures"]["texts"]
    assert [one is not None for one in shown] == [True, False]
