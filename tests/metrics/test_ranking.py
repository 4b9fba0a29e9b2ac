"""MAP and MRR against loops over ranked lists, with ties and with questions that nothing answers."""

from itertools import permutations

import numpy as np
import pytest
import torch

from zoo.metrics import ItemScore
from zoo.metrics.ranking import (
    MAP_ITEMS,
    MRR_ITEMS,
    MeanAveragePrecision,
    MeanReciprocalRank,
    Ranking,
    expected_by_chance,
    of_document_order,
)

RNG = np.random.default_rng(0)


def by_hand(ranked: list[bool]) -> tuple[float, float]:
    """Average precision and reciprocal rank of one ranked list."""
    found, precisions = 0, []
    for rank, right in enumerate(ranked, start=1):
        if right:
            found += 1
            precisions.append(found / rank)
    return sum(precisions) / found, 1 / (1 + ranked.index(True))


def candidates(count: int, questions: int) -> tuple[list[int], list[int], list[float], list[bool]]:
    """Numbers, groups, scores and truth of candidates; many scores are equal."""
    groups = RNG.integers(questions, size=count).tolist()
    scores = (RNG.integers(4, size=count) / 3).tolist()
    right = (RNG.random(count) < 0.25).tolist()
    return list(range(count)), groups, scores, right


def mean_by_hand(
    numbers: list[int], groups: list[int], scores: list[float], right: list[bool]
) -> tuple[float, float]:
    values = []
    for question in sorted(set(groups)):
        own = [n for n in numbers if groups[n] == question]
        own.sort(key=lambda n: (scores[n], n), reverse=True)  # trec_eval: of equal ones the greater number
        ranked = [right[n] for n in own]
        if any(ranked):
            values.append(by_hand(ranked))
    return tuple(float(np.mean(column)) for column in zip(*values, strict=True))  # type: ignore[return-value]


def fed(kind: type[Ranking], *columns: list[float], sizes: int) -> Ranking:
    """A metric that was given the candidates in parts, in an order of their own."""
    metric, order = kind(), RNG.permutation(len(columns[0]))
    for rows in np.array_split(order, sizes):
        metric.update(*(torch.tensor([column[row] for row in rows]) for column in columns))
    return metric


@pytest.mark.parametrize("sizes", [1, 7])
def test_means_over_questions(sizes: int) -> None:
    columns = candidates(120, 15)
    expected = mean_by_hand(*columns)
    for kind, value in zip((MeanAveragePrecision, MeanReciprocalRank), expected, strict=True):
        assert float(fed(kind, *columns, sizes=sizes).compute()) == pytest.approx(value, abs=1e-6)


def test_of_equal_scores_the_greater_number_stands_first() -> None:
    metric = MeanReciprocalRank()
    metric.update(
        torch.tensor([4, 9, 7]), torch.zeros(3).long(), torch.ones(3), torch.tensor([True, False, False])
    )
    assert float(metric.compute()) == pytest.approx(1 / 3)


def test_questions_that_nothing_answers_are_left_out() -> None:
    metric = MeanAveragePrecision()
    metric.update(
        torch.arange(3), torch.tensor([0, 0, 1]), torch.tensor([1.0, 0.0, 0.5]), torch.tensor([False] * 3)
    )
    assert metric.compute().isnan()
    metric.update(torch.tensor([3]), torch.tensor([2]), torch.tensor([0.1]), torch.tensor([True]))
    assert float(metric.compute()) == 1
    assert "left out" in metric.signature


def test_chance_is_the_mean_over_all_orders() -> None:
    questions = [[True, False, False, True, False], [True], [True, False], [False, False], [True, True, True]]
    found = expected_by_chance(questions)
    values = [
        np.mean([by_hand(list(order)) for order in permutations(question)], axis=0)
        for question in questions
        if any(question)
    ]
    assert [found["map"], found["mrr"]] == pytest.approx(np.mean(values, axis=0).tolist())
    assert expected_by_chance([[False]]) == of_document_order([[False]]) == {}


def test_the_order_of_the_data() -> None:
    questions = [[False, True, True], [True, False], [False]]
    expected = np.mean([by_hand(question) for question in questions[:2]], axis=0).tolist()
    found = of_document_order(questions)
    assert [found["map"], found["mrr"]] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "declared"), [(MeanAveragePrecision, MAP_ITEMS), (MeanReciprocalRank, MRR_ITEMS)]
)
def test_questions_are_the_items_that_a_comparison_draws(kind: type[Ranking], declared: ItemScore) -> None:
    columns = candidates(120, 15)
    names = ("id", "group", "rank_score", "right")
    predictions = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    scorer = declared.scorer("")
    statistics = declared.statistics(scorer, predictions)
    assert len(statistics) == len(set(columns[1]))
    again = scorer.score(statistics.sum(axis=0).tolist())
    assert again == pytest.approx(float(fed(kind, *columns, sizes=1).compute()), abs=1e-6)
