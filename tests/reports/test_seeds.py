"""Statistics over seeds: closed forms, and scipy's own tests."""

import pytest
from scipy import stats

from zoo.reports.seeds import seed_difference, summarise


def test_the_interval_is_students() -> None:
    """Of 1, 2, 3: t(0.975, 2) = 4.302653 times 1 / sqrt(3)."""
    found = summarise([1.0, 2.0, 3.0])
    assert (found.mean, found.deviation, found.n, found.least, found.most) == (2, 1, 3, 1, 3)
    assert found.low == pytest.approx(2 - 4.302653 / 3**0.5, abs=1e-6)
    assert found.high == pytest.approx(2 + 4.302653 / 3**0.5, abs=1e-6)


def test_the_interval_is_scipys() -> None:
    values = [0.31, 0.36, 0.29, 0.41, 0.33]
    expected = stats.ttest_1samp(values, 0).confidence_interval()
    found = summarise(values)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_the_interval_of_a_share_is_cut_at_its_ends() -> None:
    whole, cut = summarise([0.9, 1.0, 0.97]), summarise([0.9, 1.0, 0.97], share=True)
    assert whole.high is not None
    assert whole.high > 1
    assert cut == whole._replace(high=1.0)
    low = summarise([0.0, 0.1, 0.01], share=True)
    assert low.low == 0
    assert low.high == summarise([0.0, 0.1, 0.01]).high


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0, 0.0], [0.001, 0.0], [0.2, 0.8, 0.5]])
def test_the_interval_of_a_share_stays_within_0_and_1(values: list[float]) -> None:
    found = summarise(values, share=True)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.mean <= found.high <= 1


def test_one_seed_has_no_spread() -> None:
    assert summarise([0.5]) == (0.5, None, None, None, 1, 0.5, 0.5)


def test_shared_seeds_are_pairs() -> None:
    own, base = {1: 0.5, 2: 0.7, 3: 0.65, 9: 5.0}, {3: 0.6, 1: 0.45, 2: 0.68}
    found = seed_difference(own, base)
    assert found is not None
    expected = stats.ttest_rel([0.5, 0.7, 0.65], [0.45, 0.68, 0.6])
    assert found.seeds == (1, 2, 3)
    assert found.difference == pytest.approx(0.04)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))


def test_other_seeds_are_welchs() -> None:
    own, base = {1: 0.5, 2: 0.7, 3: 0.65}, {4: 0.3, 5: 0.2}
    found = seed_difference(own, base)
    assert found is not None
    expected = stats.ttest_ind([0.5, 0.7, 0.65], [0.3, 0.2], equal_var=False)
    assert found.seeds == ()
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))


def test_too_few_seeds_say_nothing() -> None:
    assert seed_difference({1: 0.5, 2: 0.6}, {1: 0.4}) is None
    assert seed_difference({1: 0.5}, {1: 0.4}) is None


def test_differences_without_spread() -> None:
    """Nothing to divide by: all seeds say the same, equal or not."""
    same = {1: 0.1, 2: 0.2}
    assert seed_difference(same, same) == (0, 0, 0, 1, (1, 2))
    assert seed_difference({1: 1.1, 2: 1.2}, same) is None, "two equal differences are no certainty"
    assert seed_difference({1: 1.0, 2: 1.0}, {3: 1.0, 4: 1.0}) == (0, 0, 0, 1, ())
