"""Every kind of bit sequence: what its items hold, against the paper's words."""

import numpy as np
import pytest

from zoo.core.bit_sequences import (
    KINDS,
    AssociativeRecall,
    BitSequence,
    BitSequences,
    Copy,
    DynamicNGrams,
    PrioritySort,
    RepeatCopy,
    kind_of,
)


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def items(kind: BitSequences, size: int, count: int = 30) -> list[BitSequence]:
    generator = random()
    return [kind.item(size, generator) for _ in range(count)]


@pytest.mark.parametrize("name", KINDS)
def test_items_have_the_sizes_that_they_say(name: str) -> None:
    kind = KINDS[name]()  # type: ignore[abstract]
    for size in {kind.shortest: 0, kind.longest: 0}:
        for item in items(kind, size, 3):
            steps = len(item.inputs)
            assert item.inputs.shape == (steps, kind.channels)
            assert item.targets.shape == (steps, kind.outputs)
            assert item.scored.shape == (steps,)
            assert item.scored.any()
            assert item.scored[-1]
            assert np.isin(item.targets, (0, 1)).all()
            assert (item.inputs.dtype, item.targets.dtype, item.scored.dtype) == (
                np.float32,
                np.float32,
                bool,
            )


@pytest.mark.parametrize("name", [name for name in KINDS if name != "dynamic_ngrams"])
def test_nothing_is_shown_while_an_answer_is_written(name: str) -> None:
    kind = KINDS[name]()  # type: ignore[abstract]
    for item in items(kind, kind.longest, 5):
        assert not item.inputs[item.scored].any()
        assert not item.targets[~item.scored].any()
        assert (np.diff(item.scored.astype(int)) >= 0).all(), "the answer comes last"


def test_copy() -> None:
    for item in items(Copy(bits=4), 6):
        assert item.inputs[6].tolist() == [0, 0, 0, 0, 1]
        assert (item.inputs[:6, 4] == 0).all()
        assert (item.targets[7:] == item.inputs[:6, :4]).all()
        assert len(item.inputs) == 13
    bits = np.concatenate([item.inputs[:6, :4] for item in items(Copy(bits=4), 6, 300)])
    assert abs(bits.mean() - 0.5) < 0.03


def test_repeat_copy() -> None:
    kind, shown = RepeatCopy(bits=4, most_copies=3), []
    for item in items(kind, 5, 200):
        copies, rest = divmod(int(item.scored.sum()) - 1, 5)
        assert rest == 0
        assert 1 <= copies <= 3
        assert item.inputs[5, 4] == 1
        shown.append((copies, float(item.inputs[5, 5])))
        for copy in range(copies):
            answer = item.targets[6 + 5 * copy : 11 + 5 * copy]
            assert (answer[:, :4] == item.inputs[:5, :4]).all()
            assert (answer[:, 4] == 0).all()
        assert item.targets[-1].tolist() == [0, 0, 0, 0, 1], "the end marker"
    assert len(set(shown)) == 3, "a number for each count"
    numbers = np.array([number for _, number in set(shown)])
    assert numbers.mean() == pytest.approx(0, abs=1e-6)
    assert numbers.std() == pytest.approx(1, abs=1e-6)
    fixed = RepeatCopy(bits=4, most_copies=3, copies=7)
    assert {int(item.scored.sum()) for item in items(fixed, 5, 5)} == {36}


def test_associative_recall() -> None:
    kind, asked = AssociativeRecall(bits=5, vectors=2), set()
    for item in items(kind, 4, 60):
        blocks = item.inputs[:12].reshape(4, 3, 7)
        assert (blocks[:, 0] == [0, 0, 0, 0, 0, 1, 0]).all()
        assert (blocks[:, 1:, 5:] == 0).all()
        assert (item.inputs[[12, 15]] == [0, 0, 0, 0, 0, 0, 1]).all()
        question = item.inputs[13:15, :5]
        followers = [
            blocks[number + 1, 1:, :5] for number in range(3) if (blocks[number, 1:, :5] == question).all()
        ]
        assert any((item.targets[16:] == follower).all() for follower in followers)
        asked |= {number for number in range(3) if (blocks[number, 1:, :5] == question).all()}
        assert len(item.inputs) == 18
    assert asked == {0, 1, 2}, "the last item has no successor"


def test_priority_sort() -> None:
    for item in items(PrioritySort(bits=6, shortest=9, longest=9, written=5), 9):
        priorities = item.inputs[:9, 6]
        assert (abs(priorities) <= 1).all()
        ranked = sorted(range(9), key=lambda place: -priorities[place])[:5]
        assert (item.targets[10:] == item.inputs[ranked, :6]).all()
        assert item.inputs[9].tolist() == [0] * 7 + [1]


def test_dynamic_ngrams_predict_the_next_bit() -> None:
    for item in items(DynamicNGrams(order=3, shortest=10, longest=40), 40):
        assert (item.inputs[1:] == item.targets[:-1]).all()
        assert item.scored.tolist() == [False] + [True] * 38


def test_ngrams_follow_their_context() -> None:
    """Every context has a probability from Beta(1/2, 1/2), of mean 1/2 and variance 1/8."""
    shares = []
    for item in items(DynamicNGrams(order=2, shortest=10, longest=4000), 4000, 150):
        bits = np.append(item.inputs[:, 0], item.targets[-1, 0])
        for context in (0, 1):
            after = bits[1:][bits[:-1] == context]
            if len(after) > 200:
                shares.append(after.mean())
    assert np.mean(shares) == pytest.approx(0.5, abs=0.08)
    assert len(set(np.round(shares, 2))) > 30, "anew for each item"


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_best_guess_counts_what_followed_the_same_context(order: int) -> None:
    """Equation 10, by counting the whole past anew at every step."""
    kind = DynamicNGrams(order=order, shortest=10, longest=30)
    for item in items(kind, 30, 5):
        bits = [int(bit) for bit in (*item.inputs[:, 0], item.targets[-1, 0])]
        guess = kind.best_guess(item)
        for step in np.flatnonzero(item.scored):
            place, known = step + 1, order - 1
            context = bits[place - known : place]
            followers = [bits[i] for i in range(known, place) if bits[i - known : i] == context]
            expected = (sum(followers) + 0.5) / (len(followers) + 1)
            assert guess[step, 0] == pytest.approx(expected, abs=1e-6)


def test_other_answers_are_certain() -> None:
    kind = Copy()
    assert kind.best_guess(kind.item(3, random())) is None


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Copy, {"shortest": 0}, "shortest must be at least 1, got 0"),
        (Copy, {"longest": 3, "shortest": 4}, "longest must be at least shortest=4, got 3"),
        (Copy, {"bits": 0}, "bits must be at least 1, got 0"),
        (RepeatCopy, {"most_copies": 0}, "most_copies must be at least 1, got 0"),
        (AssociativeRecall, {"shortest": 1}, "shortest must be at least 2, got 1"),
        (DynamicNGrams, {"order": 0}, "order must be at least 1, got 0"),
        (DynamicNGrams, {"order": 7, "shortest": 6}, "shortest must be at least order=7, got 6"),
        (DynamicNGrams, {"order": 1, "shortest": 1}, "shortest must be at least 2, got 1"),
        (DynamicNGrams, {"order": 21}, "order must be at most 20, got 21"),
        (PrioritySort, {"written": 21}, "shortest must be at least written=21, got 20"),
        (PrioritySort, {"written": 0}, "written must be at least 1, got 0"),
    ],
)
def test_sizes_are_checked(kind: type[BitSequences], settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**settings)  # type: ignore[abstract]


def test_a_kind_is_read_from_its_settings() -> None:
    kind = kind_of({"_target_": "zoo.core.bit_sequences.Copy", "bits": 3, "shortest": 2, "longest": 4})
    assert isinstance(kind, Copy)
    assert (kind.bits, kind.shortest, kind.longest) == (3, 2, 4)
    with pytest.raises(ValueError, match=r"os\.system makes the sequences"):
        kind_of({"_target_": "os.system"})
