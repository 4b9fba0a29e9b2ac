"""Paired bootstrap: against sacreBLEU's own, and on cases whose answer is known."""

import random
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from zoo.metrics import ExactMatch, WrongAnswers, text_metrics
from zoo.metrics.text import References
from zoo.reports.significance import Difference, SummedScore, paired_bootstrap

SENTENCE = "ein Mann steht auf der Leiter und zwei Hunde laufen über das nasse Gras vor dem Haus"
WORDS = SENTENCE.split()


def corpus(size: int, seed: int, *shares: float) -> tuple[list[list[str]], list[list[str]]]:
    """References, and for each share a system that gets that share of the words right."""
    generator = random.Random(seed)
    targets = [generator.choices(WORDS, k=generator.randint(4, 15)) for _ in range(size)]
    systems = [
        [
            " ".join(word if generator.random() < share else generator.choice(WORDS) for word in words)
            for words in targets
        ]
        for share in shares
    ]
    return [[" ".join(words)] for words in targets], systems


def bootstrap(
    metric: SummedScore, references: References, baseline: list[str], systems: list[list[str]], **drawn: int
) -> tuple[float, list[Difference]]:
    """The baseline's score, and each system's difference from it."""
    texts = [baseline, *systems]
    statistics = np.stack([np.array(metric.sentence_statistics(said, references)) for said in texts], axis=1)
    pairs = [([column], [0]) for column in range(1, len(texts))]
    found = paired_bootstrap(metric, [statistics], pairs, **drawn)
    return metric.score(statistics[:, 0].sum(axis=0).tolist()), found


@pytest.mark.parametrize(("name", "theirs"), [("bleu", BLEU), ("chrf", CHRF)])
def test_the_same_resamples_and_scores_as_sacrebleu(
    name: str, theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    references, (first, second) = corpus(60, 3, 0.7, 0.74)
    streams = [[alternatives[0] for alternatives in references]]
    _, found = PairedTest(
        [("a", first), ("b", second)], {name: theirs()}, streams, test_type="bs", n_samples=300
    )()
    expected = next(results for metric, results in found.items() if metric != "System")
    metric: Any = text_metrics()[name]
    drawn: list[float] = []
    score = metric.score
    monkeypatch.setattr(metric, "score", lambda sums: drawn.append(score(sums)) or drawn[-1])
    baseline, (difference,) = bootstrap(metric, references, first, [second], samples=300, seed=12345)
    assert baseline == pytest.approx(expected[0].score)
    assert difference.score == pytest.approx(expected[1].score)
    resampled = np.array(drawn[2:602]).reshape(300, 2)
    assert resampled[:, 1].mean() == pytest.approx(expected[1].mean, rel=1e-6)
    ordered = np.sort(resampled[:, 1])
    assert (ordered[-8] - ordered[7]) / 2 == pytest.approx(expected[1].ci, rel=1e-5)
    # Where the difference is neither certain nor nothing, both ways to count chance nearly agree.
    assert 0.005 < difference.p < 0.3
    assert difference.p == pytest.approx(expected[1].p_value, abs=0.05)


def test_exact_match_by_hand() -> None:
    """A difference of one sentence in four vanishes when that sentence is not drawn: (3/4)^4 of all times."""
    references = [[letter] for letter in "abcd"]
    baseline, (difference,) = bootstrap(
        ExactMatch(), references, list("abxx"), [list("abcx")], samples=4000, seed=0
    )
    assert (baseline, difference.score, difference.difference) == (0.5, 0.75, 0.25)
    assert difference.p == pytest.approx(0.75**4, abs=0.03)
    assert (difference.low, difference.high) == (0.0, 0.75)


def test_a_worse_system_has_the_same_p_as_the_better_one_the_other_way_round() -> None:
    references, (first, second) = corpus(40, 5, 0.6, 0.7)
    metric: Any = text_metrics()["bleu"]
    _, (better,) = bootstrap(metric, references, first, [second], samples=200, seed=1)
    _, (worse,) = bootstrap(metric, references, second, [first], samples=200, seed=1)
    assert better.difference == -worse.difference > 0
    assert better.p == worse.p < 0.5
    assert (better.low, better.high) == pytest.approx((-worse.high, -worse.low))
    assert better.low < better.difference < better.high


def test_equal_systems_are_no_difference_and_certain_ones_never_have_p_0() -> None:
    references, (bad,) = corpus(30, 7, 0.3)
    good = [alternatives[0] for alternatives in references]
    metric: Any = text_metrics()["bleu"]
    _, (equal, certain) = bootstrap(metric, references, bad, [bad, good], samples=99, seed=1)
    assert equal[1:] == (0.0, 0.0, 0.0, 1.0)
    assert certain.p == 0.01


def test_a_system_is_judged_alike_whatever_it_is_compared_beside() -> None:
    references, (first, second, third) = corpus(30, 9, 0.5, 0.6, 0.7)
    metric: Any = text_metrics()["chrf"]
    _, both = bootstrap(metric, references, first, [second, third], samples=50, seed=1)
    _, (alone,) = bootstrap(metric, references, first, [third], samples=50, seed=1)
    assert both[1] == alone
    assert alone != bootstrap(metric, references, first, [third], samples=50, seed=2)[1][0]


def test_mistakes() -> None:
    metric: SummedScore = ExactMatch()
    with pytest.raises(ValueError, match="samples must be at least 1, got 0"):
        bootstrap(metric, [["a"]], ["a"], [["a"]], samples=0, seed=0)
    with pytest.raises(ValueError, match="no sentences"):
        bootstrap(metric, [], [], [[]], samples=1, seed=0)


def test_several_runs_a_side_are_their_mean() -> None:
    """Of two runs each: by hand, on the same resamples."""
    references = [[letter] for letter in "abcdef"]
    systems = ["abcdxx", "abxxxx", "abcdef", "abcxxx"]
    metric = ExactMatch()
    statistics = np.stack(
        [np.array(metric.sentence_statistics(list(text), references)) for text in systems], axis=1
    )
    (found,) = paired_bootstrap(metric, [statistics], [([2, 3], [0, 1])], samples=400, seed=3)
    assert found.score == pytest.approx((6 / 6 + 3 / 6) / 2)
    assert found.difference == pytest.approx(0.25)
    generator = np.random.default_rng(3)
    right = statistics[:, :, 0]
    drawn = [right[generator.choice(6, size=6)].mean(axis=0) for _ in range(400)]
    differences = np.array([(row[2] + row[3] - row[0] - row[1]) / 2 for row in drawn])
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(differences, [2.5, 97.5])))
    assert found.p == pytest.approx((np.sum(differences <= 1e-12) + 1) / 401)


def test_an_error_falls_as_matches_rise() -> None:
    references = [[letter] for letter in "abcd"]
    statistics = WrongAnswers().sentence_statistics(list("abcx"), references)
    assert WrongAnswers().score([sum(column) for column in zip(*statistics, strict=True)]) == 0.25
