"""Whether a difference between two systems could be chance: paired bootstrap resampling (Koehn 2004)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.metrics import SummedScore

_ROUNDING = 1e-9
"""Means over several runs may differ by this much and be the same."""
_DRAWN = 64
"""Test sets that are summed in one product of matrices."""


class Difference(NamedTuple):
    """How a system's score differs from the baseline's.

    Attributes:
        score: of the system on all sentences.
        difference: that score less the baseline's.
        low, high: the 95 % interval of the difference, its percentiles 2.5 and 97.5 over the resamples.
        p: share of resamples in which the difference vanishes or has the other sign (one-sided; small = the
            better system would be the better one on other sentences of this kind, too).
    """

    score: float
    difference: float
    low: float
    high: float
    p: float


def paired_bootstrap(
    metric: SummedScore,
    statistics: Sequence[NDArray[np.int64]],
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    *,
    samples: int,
    seed: int,
) -> list[Difference]:
    """Compares configurations with baselines on the same test items.

    Test sets of the same size are drawn from the items with replacement, and every run is scored on each of
    them (Koehn 2004, section 4). A side's score is the mean over its runs: items are drawn anew, not seeds. A
    p-value counts the given test set as one more resample, so it is never 0 (Davison & Hinkley 1997, section
    4.2). Two systems that say the same have p = 1.

    The resamples are those that sacreBLEU draws from the same seed. (Its own p-value differs: it counts
    resamples in which the difference exceeds its mean by more than the measured difference, and gives two
    equal systems the smallest p-value there is.)

    Args:
        metric: what is compared.
        statistics: of each test set (N, runs, statistics), what each item adds for each run that was tested
            on it. There is one or, of a cross-validation, one for each fold: each is drawn by itself.
        pairs: for each comparison the numbers of a configuration's runs, and those of its baseline's; runs
            are counted through all test sets.
        samples: how many test sets are drawn.
        seed: of the draw.

    Raises:
        ValueError: there is no sample, or there are no items.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    if not all(map(len, statistics)):
        raise ValueError("there are no sentences to compare")
    whole = np.concatenate([_scores(metric, one.sum(axis=0)) for one in statistics])
    generator = np.random.default_rng(seed)
    drawn = np.concatenate([_resampled(metric, one, samples, generator) for one in statistics], axis=1)
    found = []
    for own, base in ((list(own), list(base)) for own, base in pairs):
        score, difference = whole[own].mean(), whole[own].mean() - whole[base].mean()
        resampled = drawn[:, own].mean(axis=1) - drawn[:, base].mean(axis=1)
        low, high = np.percentile(resampled, [2.5, 97.5])
        against = int((resampled * np.sign(difference) <= _ROUNDING).sum())
        p = (against + 1) / (samples + 1)
        found.append(Difference(float(score), float(difference), float(low), float(high), p))
    return found


def _resampled(
    metric: SummedScore, statistics: NDArray[np.int64], samples: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """`(samples, runs)`: the score of each run on each test set that is drawn from the items."""
    count, shape = len(statistics), statistics.shape[1:]
    # Counts are exact in float64, whose products are far faster than those of integers.
    flat = statistics.reshape(count, -1).astype(np.float64)
    drawn = np.empty((samples, shape[0]))
    for begin in range(0, samples, _DRAWN):
        # how often each item was drawn, times what it adds: no copy of the statistics for each resample
        times = np.array(
            [
                np.bincount(generator.choice(count, size=count), minlength=count)
                for _ in range(min(_DRAWN, samples - begin))
            ],
            np.float64,
        )
        for number, sums in enumerate((times @ flat).astype(np.int64), start=begin):
            drawn[number] = _scores(metric, sums.reshape(shape))
    return drawn


def _scores(metric: SummedScore, sums: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array([metric.score(row) for row in sums.tolist()])
