"""Whether a difference between two systems could be chance: paired bootstrap resampling (Koehn 2004)."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from zoo.metrics.text import References


class SummedScore(Protocol):
    """A score of a corpus that follows from sums over its sentences."""

    def sentence_statistics(self, predictions: Sequence[str], references: References) -> list[list[int]]:
        """What each sentence adds to the sums."""

    def score(self, sums: Sequence[int]) -> float:
        """The score of the sums."""


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
    references: References,
    baseline: Sequence[str],
    systems: Sequence[Sequence[str]],
    *,
    samples: int,
    seed: int,
) -> tuple[float, list[Difference]]:
    """Compares systems with a baseline on the same sentences.

    Test sets of the same size are drawn from the sentences with replacement, and all systems are scored on
    each of them (Koehn 2004, section 4). A p-value counts the given test set as one more resample, so it is
    never 0 (Davison & Hinkley 1997, section 4.2). Two systems that say the same have p = 1.

    The resamples are those that sacreBLEU draws from the same seed. (Its own p-value differs: it counts
    resamples in which the difference exceeds its mean by more than the measured difference, and gives two
    equal systems the smallest p-value there is.)

    Args:
        metric: what is compared.
        references: for each of N sentences its raw references.
        baseline: N predictions.
        systems: N predictions of each system.
        samples: how many test sets are drawn.
        seed: of the draw.

    Returns:
        The baseline's score, and each system's difference from it.

    Raises:
        ValueError: the counts differ, there are no sentences, or there is no sample.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    if not references:
        raise ValueError("there are no sentences to compare")
    # (N, systems, statistics), the baseline first
    statistics = np.stack(
        [np.array(metric.sentence_statistics(texts, references)) for texts in (baseline, *systems)], axis=1
    )
    whole = _scores(metric, statistics.sum(axis=0))
    count = len(statistics)
    flat = statistics.reshape(count, -1)
    generator = np.random.default_rng(seed)
    drawn = np.empty((samples, len(systems) + 1))
    for number in range(samples):
        # how often each sentence was drawn, times what it adds: no copy of the statistics for each resample
        times = np.bincount(generator.choice(count, size=count), minlength=count)
        drawn[number] = _scores(metric, (times @ flat).reshape(statistics.shape[1:]))
    return whole[0], [
        _difference(score, score - whole[0], drawn[:, column] - drawn[:, 0])
        for column, score in enumerate(whole[1:], start=1)
    ]


def _scores(metric: SummedScore, sums: NDArray[np.int64]) -> list[float]:
    return [metric.score(row) for row in sums.tolist()]


def _difference(score: float, difference: float, resampled: NDArray[np.float64]) -> Difference:
    low, high = np.percentile(resampled, [2.5, 97.5])
    against = int((resampled * np.sign(difference) <= 0).sum())
    return Difference(score, difference, float(low), float(high), (against + 1) / (len(resampled) + 1))
