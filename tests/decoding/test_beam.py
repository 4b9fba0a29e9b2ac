"""Beam search against exhaustive search, by hand, and in any batch."""

import math
from itertools import product

import pytest
import torch
from decoding_worlds import BOS, EOS, Reader, Transitions, plain, run

from zoo.decoding import Beam, Greedy, Hypothesis, length_penalty
from zoo.decoding.top import top

A, B, C = 2, 3, 4


def test_the_length_penalty_of_the_paper() -> None:
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 1.0) == 2.0
    assert length_penalty(19, 0.5) == 2.0
    torch.testing.assert_close(length_penalty(torch.tensor([1, 7]), 2.0), torch.tensor([1.0, 4.0]))
    assert length_penalty(30, 0.0) == 1.0


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_beam_wide_enough_finds_what_exhaustive_search_finds(seed: int, alpha: float) -> None:
    reader, longest = Reader(seed, vocabulary=5, sharpness=1.0), 4
    source = reader.sentences([3])[0]
    words = [A, B, C]
    everything = [[*prefix, EOS] for length in range(longest) for prefix in product(words, repeat=length)]
    by_hand = []
    for ids in everything:
        log_prob, _ = reader.follow(source, ids)
        by_hand.append((log_prob / ((5 + len(ids)) / 6) ** alpha, ids))
    by_hand.sort(reverse=True)

    found = run(
        Beam(beam_size=4**longest, length_penalty=alpha, n_best=12),
        reader,
        *reader.encode([source]),
        limits=[longest],
    )[0]
    assert [one.ids for one in found] == [ids for _, ids in by_hand[:12]]
    assert [one.score for one in found] == pytest.approx([score for score, _ in by_hand[:12]], abs=1e-5)


def test_a_world_solved_by_hand() -> None:
    """Greedy takes A (0.6) and ends with 0.6 * 0.3; the better sentence begins with B: 0.4 * 0.9."""
    world = Transitions(
        [
            [0.0, 0.0, 0.6, 0.4],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.3, 0.35, 0.35],
            [0.0, 0.9, 0.05, 0.05],
        ]
    )
    best, second = run(Beam(beam_size=2, length_penalty=0.0, n_best=2), world, limits=[10])[0]
    assert best.ids == [B, EOS]
    assert best.score == best.log_prob == pytest.approx(math.log(0.4 * 0.9))
    assert second.ids == [A, A, B, EOS]  # A A comes before A B, which is as probable and has no place left
    assert second.log_prob == pytest.approx(math.log(0.6 * 0.35 * 0.35 * 0.9))


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, [EOS]), (2.0, [A, B, C, EOS])])
def test_it_goes_on_while_a_longer_hypothesis_can_still_win(alpha: float, expected: list[int]) -> None:
    """EOS at once has 0.6; the only other path has 0.4, which alpha = 2 divides by 2.25 at length 4."""
    world = Transitions(
        [
            [0.0, 0.6, 0.4, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0],
            [0.0, 1.0, 0.0, 0.0, 0.0],
        ]
    )
    (best,) = run(Beam(beam_size=2, length_penalty=alpha), world, limits=[4])[0]
    assert best.ids == expected
    assert best.score == pytest.approx(math.log(0.6) if alpha == 0 else math.log(0.4) / (9 / 6) ** 2)


@pytest.mark.parametrize(("limit", "steps"), [(4, 1), (8, 2), (30, 5)])
def test_it_stops_once_no_open_hypothesis_can_win(limit: int, steps: int) -> None:
    """EOS at once scores log 0.5. After n steps the best open hypothesis has (n + 1) log 0.5.

    With alpha = 1 it can reach that over lp(limit), so it is out when n + 1 >= lp(limit) = (5 + limit) / 6:
    9/6, 13/6 and 35/6.
    """
    world = Transitions(
        [[0.0, 0.5, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0], [0.0, 0.25, 0.5, 0.25], [0.0, 0.25, 0.25, 0.5]]
    )
    found = run(Beam(beam_size=3, length_penalty=1.0), world, limits=[limit])
    assert found[0][0].ids == [EOS]
    assert len(world.sizes) == steps


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_list_is_the_same_for_any_n_best(seed: int, alpha: float) -> None:
    reader = Reader(seed)
    sources = reader.sentences([2, 5, 3, 4])
    whole = run(
        Beam(beam_size=4, length_penalty=alpha, n_best=4), reader, *reader.encode(sources), limits=[9] * 4
    )
    for n_best in (1, 2, 3):
        part = run(
            Beam(beam_size=4, length_penalty=alpha, n_best=n_best),
            reader,
            *reader.encode(sources),
            limits=[9] * 4,
        )
        # finished ones come in the same order; a shorter list may simply be full of them earlier
        assert plain(part) == [sentence[:n_best] for sentence in plain(whole)]


@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_beam_of_one_is_greedy(seed: int, alpha: float) -> None:
    reader = Reader(seed)
    sources, limits = reader.sentences([2, 5, 3, 4, 1]), [3, 12, 8, 1, 20]
    greedy = run(Greedy(), reader, *reader.encode(sources), limits=limits)
    beam = run(Beam(beam_size=1, length_penalty=alpha), reader, *reader.encode(sources), limits=limits)
    for (one,), (other,) in zip(greedy, beam, strict=True):
        assert (one.ids, one.finished) == (other.ids, other.finished)
        assert one.log_prob == pytest.approx(other.log_prob)
        assert other.score == pytest.approx(one.log_prob / length_penalty(len(one.ids), alpha))


def test_equal_candidates_go_to_the_lower_id() -> None:
    world = Transitions([[0.25] * 4] * 4)
    for decoder in (Greedy(), Beam(beam_size=1, length_penalty=0.0), Beam(beam_size=2, length_penalty=0.0)):
        assert run(decoder, world, limits=[3])[0][0].ids == [EOS]
    n_best = run(Beam(beam_size=3, length_penalty=0.0, n_best=3), world, limits=[1])[0]
    assert [one.ids for one in n_best] == [[EOS], [A], [B]]
    unfinished = run(Greedy(), world, limits=[2], forbidden=[BOS, EOS])[0]
    assert [one.ids for one in unfinished] == [[A, A]]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_hypotheses_are_what_they_say(seed: int, alpha: float) -> None:
    """Following each token by token gives the same numbers and weights: states were reordered right."""
    reader = Reader(seed, sharpness=1.0)
    sources = reader.sentences([4, 2, 6])
    found = run(
        Beam(beam_size=5, length_penalty=alpha, n_best=5), reader, *reader.encode(sources), limits=[7, 12, 10]
    )
    for source, sentence in zip(sources, found, strict=True):
        assert len(sentence) == 5
        assert len({tuple(one.ids) for one in sentence}) == 5
        for one in sentence:
            log_prob, weights = reader.follow(source, one.ids)
            assert one.log_prob == pytest.approx(log_prob, abs=1e-4)
            assert one.score == pytest.approx(log_prob / length_penalty(len(one.ids), alpha), abs=1e-4)
            assert one.finished == (one.ids[-1] == EOS)
            assert EOS not in one.ids[:-1]
            assert BOS not in one.ids
            assert one.weights is not None
            assert one.weights.shape == (len(one.ids), 6)
            torch.testing.assert_close(one.weights[:, : len(source)], weights, atol=1e-5, rtol=1e-4)
            assert (one.weights[:, len(source) :] == 0).all()
            assert one.weights.untyped_storage().nbytes() == 4 * one.weights.numel(), "no batch kept alive"


@pytest.mark.parametrize("decoder", [Greedy(), Beam(beam_size=3, length_penalty=1.0, n_best=3)])
@pytest.mark.parametrize("seed", range(4))
def test_any_batch_order_and_padding_gives_the_same(seed: int, decoder: object) -> None:
    reader = Reader(seed)
    lengths, limits = [3, 1, 5, 2, 4, 3, 6], [9, 4, 15, 1, 12, 9, 6]
    sources = reader.sentences(lengths)
    alone = [
        run(decoder, reader, *reader.encode([source]), limits=[limit])[0]
        for source, limit in zip(sources, limits, strict=True)
    ]
    together = run(decoder, reader, *reader.encode(sources), limits=limits)
    assert plain(together) == plain(alone)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed)).tolist()
    shuffled = run(
        decoder,
        reader,
        *reader.encode([sources[number] for number in order], padding=4),
        limits=[limits[number] for number in order],
    )
    assert plain(shuffled) == plain([alone[number] for number in order])


def test_finished_sentences_leave_the_batch_and_memory_is_not_repeated() -> None:
    """Two sentences with limits 1 and 3, and one that may go on to 6: the batch shrinks as they leave."""
    reader = Reader(0)
    sources = reader.sentences([2, 2, 2])
    for decoder in (Greedy(), Beam(beam_size=4, length_penalty=1.0)):
        reader.batches.clear()
        run(decoder, reader, *reader.encode(sources), limits=[3, 6, 1], forbidden=[BOS, EOS])
        assert reader.batches == [3, 2, 2, 1, 1, 1]


def test_what_never_ends_is_returned_and_flagged() -> None:
    world = Transitions([[0.0, 0.0, 0.7, 0.3]] * 4)
    found = run(Beam(beam_size=3, length_penalty=1.0, n_best=3), world, limits=[4, 2])
    assert [[len(one.ids) for one in sentence] for sentence in found] == [[4, 4, 4], [2, 2, 2]]
    assert not any(one.finished for sentence in found for one in sentence)
    assert found[1][0] == Hypothesis(
        [A, A], pytest.approx(2 * math.log(0.7) / (7 / 6)), pytest.approx(2 * math.log(0.7)), False
    )


def test_finished_ones_come_before_those_cut_off() -> None:
    """At length 2 the sentence `A EOS` has 0.1, the unfinished `A A` has 0.81."""
    world = Transitions(
        [[0.0, 0.0, 0.9, 0.1], [0.0, 1.0, 0.0, 0.0], [0.0, 0.1, 0.9, 0.0], [0.0, 0.0, 0.0, 1.0]]
    )
    best, second = run(Beam(beam_size=3, length_penalty=0.0, n_best=2), world, limits=[2])[0]
    assert (best.ids, best.finished) == ([A, EOS], True)
    assert (second.ids, second.finished) == ([A, A], False)


def test_the_end_at_once() -> None:
    world = Transitions([[0.0, 1.0, 0.0, 0.0]] * 4)
    for decoder in (Greedy(), Beam(beam_size=3, length_penalty=1.0, n_best=3)):
        assert plain(run(decoder, world, limits=[5, 1])) == [[([EOS], 0.0, 0.0, True)]] * 2


def test_a_vocabulary_smaller_than_the_beam() -> None:
    world = Transitions([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    found = run(Beam(beam_size=8, length_penalty=0.0, n_best=8), world, limits=[4])[0]
    assert [one.ids for one in found] == [[EOS], [A, EOS], [A, A, EOS], [A, A, A, EOS], [A, A, A, A]]
    assert [one.finished for one in found] == [True] * 4 + [False]


def test_a_model_that_breaks_down_gives_an_empty_unfinished_hypothesis() -> None:
    for value in (float("nan"), 0.0):
        world = Transitions([[value] * 4] * 4)
        for decoder in (Greedy(), Beam(beam_size=3, length_penalty=1.0, n_best=2)):
            assert plain(run(decoder, world, limits=[5, 2])) == [[([], -math.inf, -math.inf, False)]] * 2


def test_what_was_finished_before_a_breakdown_is_kept() -> None:
    nan = float("nan")
    world = Transitions([[0.0, 0.4, 0.6, 0.0], [0.0, 1.0, 0.0, 0.0], [nan] * 4, [nan] * 4])
    found = run(Beam(beam_size=3, length_penalty=0.0), world, limits=[5])
    assert plain(found) == [[([EOS], round(math.log(0.4), 4), round(math.log(0.4), 4), True)]]


def test_no_sentences() -> None:
    assert run(Beam(beam_size=3, length_penalty=1.0), Transitions([[1.0]]), limits=[]) == []


@pytest.mark.parametrize("size", [3, 64, 100, 640, 1000, 1003])
def test_top_is_a_stable_sort(size: int) -> None:
    generator = torch.Generator().manual_seed(size)
    values = torch.randn(3, 2, size, generator=generator)
    for one in (values, values.round(), -values.abs().round(), (4 * values).round().abs().log()):
        found, ids = top(one, 3)
        expected = one.sort(dim=-1, descending=True, stable=True)
        assert torch.equal(found, expected.values[..., :3])
        assert torch.equal(ids, expected.indices[..., :3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_size": 0, "length_penalty": 1.0}, "beam_size must be at least 1, got 0"),
        ({"beam_size": 2, "length_penalty": 1.0, "n_best": 3}, r"from 1 to beam_size \(2\), got 3"),
        ({"beam_size": 2, "length_penalty": -0.5}, "length_penalty must be at least 0, got -0.5"),
    ],
)
def test_bad_arguments(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Beam(**arguments)  # type: ignore[arg-type]


def test_a_model_of_the_wrong_shape_is_named() -> None:
    reader = Reader(0)
    state, memory = reader.encode(reader.sentences([2, 3]))
    beam = Beam(beam_size=2, length_penalty=0.0)
    with pytest.raises(ValueError, match=r"memory tensors begin with B = 3; got shape \(2, "):
        run(beam, reader, {}, memory, limits=[4, 4, 4])
    with pytest.raises(ValueError, match=r"state tensors begin with \(B, W\) = \(2, 1\); got \(2, 5\)"):
        run(beam, reader, torch.zeros(2, 5), memory, limits=[4, 4])
    with pytest.raises(ValueError, match="maximum_length must be at least 1"):
        run(beam, reader, state, memory, limits=[4, 0])
    with pytest.raises(TypeError, match="found int: 3"):
        run(beam, reader, {"step": 3}, memory, limits=[4, 4])
