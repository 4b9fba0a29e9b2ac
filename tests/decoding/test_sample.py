"""Sampling: the right distribution, and the same draw for a sentence in any batch."""

import math

import pytest
import torch
from decoding_worlds import BOS, EOS, Reader, Transitions, plain, run

from zoo.decoding import Greedy, Sample
from zoo.decoding.sample import draw, filtered

LOG = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()


def test_a_temperature_divides_what_float32_holds() -> None:
    """-700 divided by 0.01 is less than float16 holds, for every token."""
    log_probs = torch.tensor([-700.0, -700.0, -701.0]).half()
    found = filtered(log_probs, temperature=0.01, top_k=None, top_p=None)
    torch.testing.assert_close(found, torch.tensor([0.5, 0.5, 0.0]))


def test_nothing_filtered_is_the_model_itself() -> None:
    torch.testing.assert_close(filtered(LOG, temperature=1.0, top_k=None, top_p=None), LOG.exp())


def test_temperature_by_hand() -> None:
    squared = torch.tensor([0.25, 0.0625, 0.015625, 0.015625])
    torch.testing.assert_close(
        filtered(LOG, temperature=0.5, top_k=None, top_p=None), squared / squared.sum()
    )


@pytest.mark.parametrize(
    ("top_k", "expected"),
    [
        (1, [1, 0, 0, 0]),
        (2, [2 / 3, 1 / 3, 0, 0]),
        (3, [0.5, 0.25, 0.125, 0.125]),
        (9, [0.5, 0.25, 0.125, 0.125]),
    ],
)
def test_top_k_by_hand(top_k: int, expected: list[float]) -> None:
    """Of two equally probable tokens both stay."""
    torch.testing.assert_close(
        filtered(LOG, temperature=1.0, top_k=top_k, top_p=None), torch.tensor(expected, dtype=torch.float32)
    )


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [
        (0.1, [1, 0, 0, 0]),
        (0.5, [1, 0, 0, 0]),
        (0.51, [2 / 3, 1 / 3, 0, 0]),
        (1.0, [0.5, 0.25, 0.125, 0.125]),
    ],
)
def test_top_p_by_hand(top_p: float, expected: list[float]) -> None:
    """The smallest set that reaches the probability, in any order of the vocabulary."""
    order = torch.tensor([2, 0, 3, 1])
    found = filtered(LOG[order], temperature=1.0, top_k=None, top_p=top_p)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float32)[order])


def test_drawing_by_hand() -> None:
    probabilities = torch.tensor([0.0, 0.25, 0.0, 0.75, 0.0])
    uniform = torch.tensor([0.0, 0.2, 0.25, 0.9, 1 - 2**-24])
    assert draw(probabilities.expand(5, 5), uniform).tolist() == [1, 1, 3, 3, 3]


def test_frequencies_are_the_probabilities_of_sentences() -> None:
    world = Transitions(
        [[0.0, 0.5, 0.3, 0.2], [0.0, 1.0, 0.0, 0.0], [0.0, 0.6, 0.4, 0.0], [0.0, 1.0, 0.0, 0.0]]
    )
    count = 5_000
    (drawn,) = run(Sample(samples=count), world, limits=[2])
    for ids, probability in [([1], 0.5), ([2, 1], 0.18), ([2, 2], 0.12), ([3, 1], 0.2)]:
        found = [one for one in drawn if one.ids == ids]
        assert len(found) / count == pytest.approx(probability, abs=4 * math.sqrt(0.25 / count))
        assert found[0].score == found[0].log_prob == pytest.approx(math.log(probability), abs=1e-5)
        assert found[0].finished == (ids[-1] == EOS)


@pytest.mark.parametrize("arguments", [{}, {"top_p": 0.8}, {"top_k": 3, "temperature": 1.5}, {"samples": 3}])
@pytest.mark.parametrize("seed", range(3))
def test_any_batch_order_and_padding_gives_the_same(seed: int, arguments: dict[str, float]) -> None:
    reader, sampler = Reader(seed, sharpness=1.0), Sample(seed=seed, **arguments)  # type: ignore[arg-type]
    sources, limits = reader.sentences([3, 1, 5, 2]), [9, 4, 15, 7]
    alone = [
        run(sampler, reader, *reader.encode([source]), limits=[limit])[0]
        for source, limit in zip(sources, limits, strict=True)
    ]
    backwards = run(sampler, reader, *reader.encode(sources[::-1], padding=3), limits=limits[::-1])
    assert plain(backwards[::-1]) == plain(alone)


def test_samples_are_what_they_say() -> None:
    reader = Reader(1, sharpness=1.0)
    source = reader.sentences([4])[0]
    sampler = Sample(samples=6, temperature=2.0, top_k=4)
    (drawn,) = run(sampler, reader, *reader.encode([source]), limits=[5])
    assert len(drawn) == 6
    assert [(not one.finished, -one.score) for one in drawn] == sorted(
        (not one.finished, -one.score) for one in drawn
    )
    for one in drawn:
        log_prob, weights = reader.follow(source, one.ids)
        assert one.log_prob == pytest.approx(log_prob, abs=1e-4)
        torch.testing.assert_close(one.weights, weights, atol=1e-5, rtol=1e-4)
        assert BOS not in one.ids


def test_the_seed_decides() -> None:
    reader = Reader(0, sharpness=0.3)
    state, memory = reader.encode(reader.sentences([3]))
    first, again, other = (
        plain(run(Sample(seed=seed, samples=5), reader, state, memory, limits=[8])) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("decoder", [Greedy(), Sample(samples=2)])
def test_where_no_token_is_possible_a_sequence_ends(decoder: object) -> None:
    """After the word 2 nothing has a probability."""
    world = Transitions([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    for one in run(decoder, world, limits=[4])[0]:
        assert (one.ids, one.log_prob, one.finished) == ([2], 0.0, False)


def test_one_token_left_is_greedy() -> None:
    reader = Reader(3)
    sources = reader.sentences([2, 4])
    found = run(Sample(top_k=1, temperature=3.0), reader, *reader.encode(sources), limits=[9, 9])
    assert plain(found) == plain(run(Greedy(), reader, *reader.encode(sources), limits=[9, 9]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0.0}, "temperature must be above 0, got 0.0"),
        ({"top_k": 0}, "top_k must be at least 1 or None, got 0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, or None, got 1.5"),
        ({"samples": 0}, "samples must be at least 1, got 0"),
    ],
)
def test_bad_arguments(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sample(**arguments)  # type: ignore[arg-type]
