"""What several seeds or folds of one configuration say together, and whether two differ beyond them."""

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student  # type: ignore[import-untyped]
from scipy.stats import ttest_ind, ttest_rel

_CONFIDENCE = 0.95


class Summary(NamedTuple):
    """A number over seeds; of data that is cross-validated, over folds.

    Attributes:
        mean: of the seeds.
        deviation: the standard deviation (n - 1); None of one seed.
        low, high: Student's 95 % interval of the mean, of a share within 0 and 1; None of one seed.
        n: how many seeds.
        least, most: of the seeds.
    """

    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    n: int
    least: float
    most: float


class SeedDifference(NamedTuple):
    """How far two configurations lie apart, measured against what other seeds, or folds, change.

    Attributes:
        difference: of the means over the seeds that were compared.
        low, high: the 95 % interval of the difference.
        p: two-sided.
        seeds: those that both have, which were compared in pairs; empty where means were compared instead.
    """

    difference: float
    low: float
    high: float
    p: float
    seeds: tuple[int, ...]


def summarise(values: Sequence[float], *, share: bool = False) -> Summary:
    """Mean, standard deviation and Student's interval of a number over seeds.

    Args:
        values: one of each seed, at least one.
        share: whether they are shares: then the interval is cut at 0 and 1. The true mean lies between them,
            so the interval holds it as often as before. (On the logit scale that of three seeds near 1 would
            reach far below the lowest of them.)
    """
    mean, count = statistics.fmean(values), len(values)
    if count == 1:
        return Summary(mean, None, None, None, 1, mean, mean)
    deviation = statistics.stdev(values)
    half = _quantile(count - 1) * deviation / math.sqrt(count)
    low, high = mean - half, mean + half
    if share:
        low, high = max(low, min(0.0, mean)), min(high, max(1.0, mean))
    return Summary(mean, deviation, low, high, count, min(values), max(values))


@lru_cache
def _quantile(freedom: int) -> float:
    """Of Student's distribution, between which and its negative the interval of a mean lies."""
    return float(student.ppf((1 + _CONFIDENCE) / 2, freedom))


def seed_difference(own: Mapping[int, float], baseline: Mapping[int, float]) -> SeedDifference | None:
    """Student's t-test of the differences over the seeds that both have; Welch's if they share none or one.

    Runs of one seed see their batches in the same order, so pairs take out what that order does.

    Args:
        own: values by seed.
        baseline: values by seed.

    Returns:
        None where there are too few seeds to say anything: two on both sides are the least. And where all
        seeds show the same difference, not 0: there is no spread then to measure it against.
    """
    seeds = tuple(sorted(own.keys() & baseline.keys()))
    if len(seeds) >= 2:
        differences = [own[seed] - baseline[seed] for seed in seeds]
        if _is_constant(differences):
            return _without_spread(differences[0], seeds)
        found = ttest_rel([own[seed] for seed in seeds], [baseline[seed] for seed in seeds])
        difference = statistics.fmean(differences)
    elif min(len(own), len(baseline)) >= 2:
        seeds = ()
        ours, theirs = list(own.values()), list(baseline.values())
        difference = statistics.fmean(ours) - statistics.fmean(theirs)
        if _is_constant(ours) and _is_constant(theirs):
            return _without_spread(difference, seeds)
        found = ttest_ind(ours, theirs, equal_var=False)
    else:
        return None
    low, high = found.confidence_interval(_CONFIDENCE)
    return SeedDifference(difference, float(low), float(high), float(found.pvalue), seeds)


def _is_constant(values: Sequence[float]) -> bool:
    """Whether only rounding sets them apart; then there is no spread to measure a difference against."""
    return float(np.ptp(values)) <= 1e-12 * max(1.0, *map(abs, values))


def _without_spread(difference: float, seeds: tuple[int, ...]) -> SeedDifference | None:
    return SeedDifference(0.0, 0.0, 0.0, 1.0, seeds) if difference == 0 else None
