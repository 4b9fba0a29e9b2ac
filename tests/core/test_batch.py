"""Rows shared out among batches."""

import random

import pytest

from zoo.core.batch import batches_of_like_length


@pytest.mark.parametrize(("sentences", "tokens"), [(1, 1), (7, 100), (64, 50), (1000, 1000)])
def test_every_row_is_in_one_batch_within_the_limits(sentences: int, tokens: int) -> None:
    generator = random.Random(0)
    lengths = [generator.choice([1, 2, 3, 20, 90]) for _ in range(200)]
    batches = list(batches_of_like_length(lengths, sentences, tokens))
    assert sorted(number for batch in batches for number in batch) == list(range(200))
    assert all(len(batch) <= sentences for batch in batches)
    padded = [len(batch) * max(lengths[number] for number in batch) for batch in batches]
    assert all(size <= tokens or len(batch) == 1 for size, batch in zip(padded, batches, strict=True))
    in_order = [lengths[number] for batch in batches for number in batch]
    assert in_order == sorted(lengths), "little is padded"


def test_a_batch_is_as_large_as_it_may_be() -> None:
    assert list(batches_of_like_length([3, 1, 2, 3, 9], 10, 6)) == [[1, 2], [0, 3], [4]]
    assert list(batches_of_like_length([1, 1, 1], 2, 99)) == [[0, 1], [2]]
    assert list(batches_of_like_length([], 2, 99)) == []


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="got sentences=0, tokens=5"):
        list(batches_of_like_length([1], 0, 5))
