"""Comparisons by scores of one's own: questions with several answers, and names that nothing declares."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import edit, make_run

from zoo.metrics import ITEM_SCORES, ItemScore, MeanOverItems
from zoo.reports.comparison.comparison import Comparison, Question
from zoo.reports.comparison.comparison import compare as compare_runs
from zoo.reports.runs import find_runs
from zoo.runs.predictions import write_predictions

QUESTIONS, ANSWERS = 12, 4
METRICS = {"mrr": {"better": "max", "headline": True, "items": "own_mrr"}}


def reciprocal_rank(right: list[int], scores: list[float]) -> float:
    ranked = [good for _, good in sorted(zip(scores, right, strict=True), reverse=True)]
    return 1 / (1 + ranked.index(1))


def mrr() -> MeanOverItems:
    return MeanOverItems(reciprocal_rank)


@pytest.fixture
def declared() -> Iterator[None]:
    kept = dict(ITEM_SCORES)
    ItemScore("own_mrr", mrr, columns=("right", "score"), together="question")
    yield
    ITEM_SCORES.clear()
    ITEM_SCORES.update(kept)


def rows(seed: int) -> list[dict[str, Any]]:
    """The answers of a system to all questions, the first of each is right; its questions lie mixed."""
    scores = np.random.default_rng(seed).random((ANSWERS, QUESTIONS)).round(3)
    return [
        {
            "id": number,
            "input": f"answer {number // QUESTIONS} to {number % QUESTIONS}",
            "references": ["yes" if number < QUESTIONS else "no"],
            "prediction": "yes",
            "question": f"q{number % QUESTIONS}",
            "right": int(number < QUESTIONS),
            "score": scores[number // QUESTIONS, number % QUESTIONS],
        }
        for number in range(QUESTIONS * ANSWERS)
    ]


def values(seed: int) -> list[float]:
    """Reciprocal ranks, question by question."""
    of = [[row for row in rows(seed) if row["question"] == f"q{number}"] for number in range(QUESTIONS)]
    return [reciprocal_rank([row["right"] for row in one], [row["score"] for row in one]) for one in of]


def ranking(folder: Path, seed: int, score: str, metrics: dict[str, Any] = METRICS, **results: Any) -> Path:
    value = float(np.mean(values(seed)))
    said = {"checkpoint": {"metric": "val/mrr"}, "metrics": metrics, "test": {"mrr": value}, **results}
    run = make_run(folder, score, **said)
    write_predictions(run, {"test": rows(seed)})
    return run


def compare(*paths: Path, **asked: Any) -> Comparison:
    return compare_runs(find_runs(paths), Question(**{"samples": 400, **asked}))


def test_questions_are_drawn_not_answers(declared: None, tmp_path: Path) -> None:
    """By hand, on the same draws of twelve questions."""
    runs = ranking(tmp_path / "a", 1, "Dot"), ranking(tmp_path / "b", 2, "Additive")
    found = compare(*runs, seed=3)
    generator = np.random.default_rng(3)
    differences = np.array(values(2)) - np.array(values(1))
    drawn = [differences[generator.choice(QUESTIONS, size=QUESTIONS)].mean() for _ in range(400)]
    difference = found.rows[1].items
    assert difference is not None
    assert difference.difference == pytest.approx(differences.mean())
    assert (difference.low, difference.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))
    assert any("over 12 items of test" in note for note in found.notes)


def test_predictions_alone_are_scored(declared: None, tmp_path: Path) -> None:
    for seed in (1, 2):
        write_predictions(tmp_path / str(seed), {"test": rows(seed)})
    found = compare(tmp_path / "1", tmp_path / "2", metrics=("own_mrr",))
    assert [row.scores["own_mrr"].mean for row in found.rows] == pytest.approx(
        [np.mean(values(1)), np.mean(values(2))]
    )
    assert found.metrics["own_mrr"].higher_is_better


def test_questions_must_be_the_same(declared: None, tmp_path: Path) -> None:
    other = rows(2)
    other[15]["question"] = "q0"
    first, second = ranking(tmp_path / "a", 1, "Dot"), tmp_path / "other"
    write_predictions(second, {"test": other})
    with pytest.raises(ValueError, match=r"the question of id 15 is 'q3' in one and 'q0' in the other"):
        compare(first, second)


def test_a_cut_file_is_noticed_though_it_has_all_questions(declared: None, tmp_path: Path) -> None:
    """What it lacks are the last answers, which change no rank here."""
    first, second = ranking(tmp_path / "a", 1, "Dot"), ranking(tmp_path / "b", 1, "Additive")
    right_first = [{**row, "score": float(row["right"])} for row in rows(1)]
    for run, kept in ((first, right_first), (second, right_first[:-3])):
        edit(run, test={"mrr": 1.0})
        write_predictions(run, {"test": kept})
    found = compare(first, second)
    assert found.rows[1].items is None
    assert any("its predictions are of 45 of 48 test items" in note for note in found.notes)


def test_a_column_that_predictions_lack_is_named(declared: None, tmp_path: Path) -> None:
    first, second = ranking(tmp_path / "a", 1, "Dot"), ranking(tmp_path / "b", 2, "Additive")
    write_predictions(second, {"test": [{k: v for k, v in row.items() if k != "score"} for row in rows(2)]})
    found = compare(first, second)
    assert any("id 0 lacks 'score', which own_mrr needs" in note for note in found.notes)
    assert found.rows[1].items is None
    assert found.rows[1].scores["mrr"].mean == pytest.approx(np.mean(values(2)))


def test_a_score_that_nothing_declares_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    """Means are compared all the same. Nothing is imported because results name it."""
    task = "somebody.tasks.Ranking"
    runs = [
        ranking(tmp_path / name, seed, score, task=task)
        for name, seed, score in (("a", 1, "Dot"), ("b", 2, "Additive"))
    ]
    found = compare(*runs)
    assert found.rows[1].items is None
    assert math.isfinite(found.rows[1].scores["mrr"].mean)
    (note,) = [note for note in found.notes if "own_mrr" in note]
    assert "nothing declares 'own_mrr'" in note
    assert "ZOO_PLUGINS=" in note


def test_a_package_that_the_user_named_declares_its_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module that the results name as the run's task has the declaration, and is imported for it."""
    package = tmp_path / "some_ranks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tasks.py").write_text(
        "from zoo.metrics import ItemScore, MeanOverItems\n"
        "ItemScore('own_mrr', MeanOverItems, columns=('score',))\n"
        "class Ranking: pass\n"
    )
    metrics = {"mrr": {**METRICS["mrr"]}}
    runs = []
    for name, seed, score in (("a", 1, "Dot"), ("b", 2, "Additive")):
        mean = float(np.mean([row["score"] for row in rows(seed)]))
        run = ranking(tmp_path / name, seed, score, metrics, task="some_ranks.tasks.Ranking")
        runs.append(edit(run, test={"mrr": mean}))
    kept = dict(ITEM_SCORES)
    monkeypatch.syspath_prepend(tmp_path)
    assert compare(*runs).rows[1].items is None, "nobody named it"
    monkeypatch.setenv("ZOO_PLUGINS", "some_ranks")
    try:
        assert compare(*runs).rows[1].items is not None
    finally:
        ITEM_SCORES.clear()
        ITEM_SCORES.update(kept)


def test_a_language_is_for_scores_that_take_one(declared: None, tmp_path: Path) -> None:
    run = ranking(tmp_path / "a", 1, "Dot")
    with pytest.raises(ValueError, match="--language changes bleu and bleu_tok_lc alone, not mrr"):
        compare(run, language="de")
    assert "metrics" in json.loads((run / "results.json").read_text())
