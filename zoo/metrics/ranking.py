"""Rankings of candidates for questions, scored as trec_eval does."""

from collections.abc import Sequence
from functools import partial
from math import comb

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.functional.retrieval import retrieval_average_precision, retrieval_reciprocal_rank
from torchmetrics.utilities import dim_zero_cat

from zoo.metrics.item_scores import ItemScore, MeanOverItems


class Ranking(Metric):
    """The mean over questions of how well right candidates are ranked.

    As in trec_eval, of candidates with equal scores the one whose number is greater stands first (there
    numbers are compared as texts, here as numbers), and questions without a right candidate are left out. A
    question whose candidates are all right counts 1.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    signature = "ties:greater number first|questions without a right candidate:left out"
    numbers: list[Tensor]
    groups: list[Tensor]
    scores: list[Tensor]
    right: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        for name in ("numbers", "groups", "scores", "right"):
            self.add_state(name, [], dist_reduce_fx="cat")

    def update(self, numbers: Tensor, groups: Tensor, scores: Tensor, right: Tensor) -> None:
        """Adds candidates.

        Args:
            numbers: `(N,)` int64, of the candidates, all different.
            groups: `(N,)` int64, the question of each.
            scores: `(N,)`, the greater the better.
            right: `(N,)` boolean.
        """
        self.numbers.append(numbers)
        self.groups.append(groups)
        self.scores.append(scores.float())
        self.right.append(right)

    def compute(self) -> Tensor:
        """The mean, in [0, 1]; NaN without a question that has a right candidate."""
        states = (self.numbers, self.groups, self.scores, self.right)
        numbers, groups, scores, right = (dim_zero_cat(state).cpu() for state in states)
        # The last sort decides; those before it order what it finds equal.
        order = numbers.argsort(descending=True)
        order = order[scores[order].argsort(descending=True, stable=True)]
        order = order[groups[order].argsort(stable=True)]
        _, sizes = groups[order].unique_consecutive(return_counts=True)
        ranked = (rows for rows in right[order].split(sizes.tolist()) if rows.any())
        values = [self.of_question(rows) for rows in ranked]
        return torch.stack(values).mean() if values else torch.tensor(torch.nan)

    def of_question(self, ranked: Tensor) -> Tensor:
        """The value of one question, of whether each candidate is right `(n,)`, the best one first."""
        raise NotImplementedError


def _falling(ranked: Tensor) -> Tensor:
    """Scores that all differ, so that torchmetrics ranks as it is given."""
    return torch.arange(len(ranked), 0, -1, dtype=torch.float32)


class MeanAveragePrecision(Ranking):
    """MAP: the mean of `1/R Σ_k precision@k` over the ranks k of the R right candidates."""

    def of_question(self, ranked: Tensor) -> Tensor:
        """See `Ranking`."""
        return retrieval_average_precision(_falling(ranked), ranked)


class MeanReciprocalRank(Ranking):
    """MRR: the mean of `1/k`, k the rank of the first right candidate."""

    def of_question(self, ranked: Tensor) -> Tensor:
        """See `Ranking`."""
        return retrieval_reciprocal_rank(_falling(ranked), ranked)


def _of_question(metric: Ranking, numbers: list[int], scores: list[float], right: list[bool]) -> float | None:
    """The value of one question, of its candidates' columns; None where none of them is right."""
    if not any(right):
        return None
    metric.reset()
    metric.update(torch.tensor(numbers), torch.zeros(len(numbers)), torch.tensor(scores), torch.tensor(right))
    return float(metric.compute())


def _map_items() -> MeanOverItems:
    return MeanOverItems(partial(_of_question, MeanAveragePrecision()))


def _mrr_items() -> MeanOverItems:
    return MeanOverItems(partial(_of_question, MeanReciprocalRank()))


_COLUMNS = ("id", "rank_score", "right")
MAP_ITEMS = ItemScore("map", _map_items, _COLUMNS, together="group")
MRR_ITEMS = ItemScore("mrr", _mrr_items, _COLUMNS, together="group")


def of_document_order(questions: Sequence[Sequence[bool]]) -> dict[str, float]:
    """`map` and `mrr` of candidates in the order in which they are given.

    Args:
        questions: whether each candidate is right; those without a right one are left out.
    """
    ranked = [torch.tensor(candidates) for candidates in questions if any(candidates)]
    scores = {"map": MeanAveragePrecision(), "mrr": MeanReciprocalRank()}
    if not ranked:
        return {}
    return {
        name: sum(float(score.of_question(one)) for one in ranked) / len(ranked)
        for name, score in scores.items()
    }


def expected_by_chance(questions: Sequence[Sequence[bool]]) -> dict[str, float]:
    """`map` and `mrr` of candidates in random order, their exact expectations.

    With R of n candidates right, a candidate at rank k is right with probability R/n, and then so are
    `(k - 1)(R - 1)/(n - 1)` of those before it in the mean; the first right one stands at rank k with
    probability `C(n - k, R - 1) / C(n, R)`.

    Args:
        questions: whether each candidate is right; those without a right one are left out.
    """
    precisions, reciprocals = [], []
    for candidates in questions:
        if right := sum(candidates):
            number = len(candidates)
            share = (right - 1) / max(number - 1, 1)
            ranks = range(1, number + 1)
            precisions.append(sum((1 + (rank - 1) * share) / rank for rank in ranks) / number)
            firsts = (comb(number - rank, right - 1) / comb(number, right) / rank for rank in ranks)
            reciprocals.append(sum(firsts))
    count = len(precisions)
    return {"map": sum(precisions) / count, "mrr": sum(reciprocals) / count} if count else {}
