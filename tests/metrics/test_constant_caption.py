"""The best constant caption is the best by the metric itself, and its scores are the metrics'."""

import random

import pytest

from zoo.metrics import CiderD, caption_metrics, caption_scores, constant_caption


def captions(seed: int, size: int) -> list[str]:
    generator = random.Random(seed)
    words = ["a", "man", "woman", "dog", "cat", "runs", "sits", "sleeps", "on", "the", "grass", "bench"]
    return [" ".join(generator.choices(words, k=generator.randint(1, 8))) for _ in range(size)]


def said_of_all(caption: str, references: list[list[str]]) -> float:
    metric = CiderD()
    metric.update([caption] * len(references), references)
    return float(metric.compute())


@pytest.mark.parametrize("seed", range(4))
def test_it_has_the_best_score_of_all_candidates(seed: int) -> None:
    train, generator = captions(seed, 40), random.Random(seed)
    references = [captions(100 * seed + number, generator.randint(1, 5)) for number in range(12)]
    scores = {caption: said_of_all(caption, references) for caption in train}
    best = constant_caption(train, references)
    assert best in scores
    assert scores[best] == pytest.approx(max(scores.values()), rel=1e-6)
    assert len(set(scores.values())) > 20


def test_only_the_most_frequent_are_tried() -> None:
    train = ["a dog", "a man", "A man .", "a dog runs"]
    references = [["a dog runs"], ["a cat"], ["a dog runs", "a man"]]
    assert constant_caption(train, references) == "a dog runs"
    assert constant_caption(train, references, candidates=1) == "a man"
    assert constant_caption(train, references, candidates=2) == "a dog"  # of equals the first


def test_its_scores() -> None:
    references = [["a dog runs"], ["a dog sits there"], ["a cat"]]
    scores = caption_scores("constant", ["a dog"] * 3, references)
    assert set(scores) == {f"constant_{name}" for name in (*caption_metrics(), "exact_match")}
    assert scores["constant_cider_d"] == pytest.approx(said_of_all("a dog", references))
    assert scores["constant_bleu_1_nobp"] == pytest.approx(100 * 5 / 6, abs=1e-5)


def test_a_caption_matches_by_its_tokens() -> None:
    references = [["A dog ."], ["A cat .", "A dog!"], ["A dog's toy ."]]
    assert caption_scores("constant", ["a dog"] * 3, references)["constant_exact_match"] == 2 / 3


def test_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="got 0, 1 and 1000"):
        constant_caption([], [["a dog"]])
    with pytest.raises(ValueError, match="got 1, 0 and 1000"):
        constant_caption(["a"], [])
    with pytest.raises(ValueError, match="got 1, 1 and 0"):
        constant_caption(["a"], [["a"]], candidates=0)
