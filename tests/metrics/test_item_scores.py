"""Scores of single items: who declares them, and what of a prediction they take."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from zoo.metrics import ITEM_SCORES, ExactMatch, ItemScore, MeanOverItems
from zoo.metrics.text import TokenizedLowercasedBleu


@pytest.fixture(autouse=True)
def nothing_stays_declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = dict(ITEM_SCORES)
    yield
    ITEM_SCORES.clear()
    ITEM_SCORES.update(kept)


def first_right(right: list[int], scores: list[float]) -> float | None:
    """1 / rank of the best right answer; None of a question without one."""
    ranked = [good for _, good in sorted(zip(scores, right, strict=True), reverse=True)]
    return 1 / (1 + ranked.index(1)) if 1 in ranked else None


def reciprocal_rank() -> MeanOverItems:
    return MeanOverItems(first_right)


ANSWERS: list[dict[str, Any]] = [
    {"id": 0, "question": "a", "right": 0, "score": 0.9},
    {"id": 1, "question": "b", "right": 1, "score": 0.3},
    {"id": 2, "question": "a", "right": 1, "score": 0.5},
    {"id": 3, "question": "a", "right": 0, "score": 0.1},
    {"id": 4, "question": "c", "right": 0, "score": 0.7},
]


def test_rows_with_one_value_of_a_column_are_one_item() -> None:
    """Question a has its answer in place 2, b in place 1, c none: a mean over two questions."""
    declared = ItemScore("own_mrr", reciprocal_rank, columns=("right", "score"), together="question")
    scorer = declared.scorer("")
    statistics = declared.statistics(scorer, ANSWERS)
    assert statistics.tolist() == [[2**31, 1], [2**32, 1], [0, 0]]
    assert scorer.score(statistics.sum(axis=0).tolist()) == 0.75
    assert math.isnan(scorer.score([0, 0]))


def test_a_mean_of_a_column() -> None:
    declared = ItemScore("own_accuracy", MeanOverItems, columns=("right",))
    scorer = declared.scorer("de")
    assert scorer.score(declared.statistics(scorer, ANSWERS).sum(axis=0).tolist()) == pytest.approx(0.4)


def test_a_missing_column_is_named() -> None:
    declared = ItemScore("own_mrr", reciprocal_rank, columns=("right", "score"), together="query")
    with pytest.raises(ValueError, match="id 0 lacks 'query', which own_mrr needs"):
        declared.statistics(declared.scorer(""), ANSWERS)


def test_a_name_belongs_to_one_module() -> None:
    declared = ItemScore("own_mrr", reciprocal_rank)
    assert ITEM_SCORES["own_mrr"] is declared
    with pytest.raises(ValueError, match=r"declares the score 'bleu', and zoo\.metrics\.text"):
        ItemScore("bleu", reciprocal_rank)
    again = ItemScore("own_mrr", reciprocal_rank)
    assert ITEM_SCORES["own_mrr"] is again, "a module that is loaded again"


def test_a_score_says_that_it_needs_a_language() -> None:
    language = {name for name, one in ITEM_SCORES.items() if one.takes_language}
    assert language == {"bleu", "bleu_tok_lc"}
    assert isinstance(ITEM_SCORES["bleu_tok_lc"].scorer("de"), TokenizedLowercasedBleu)
    with pytest.raises(ValueError, match="bleu_tok_lc needs the language"):
        ITEM_SCORES["bleu_tok_lc"].scorer("")
    assert ITEM_SCORES["bleu"].scorer("")
    assert isinstance(ITEM_SCORES["exact_match"].scorer("de"), ExactMatch)
