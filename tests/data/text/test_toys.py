"""Copy and reverse."""

import pytest

from data.text.toys import Copy, Reverse

SMALL = {
    "symbols": 20,
    "minimum_length": 5,
    "maximum_length": 15,
    "train": 200,
    "validation": 20,
    "test": 50,
}


@pytest.mark.parametrize(("toy", "step"), [(Copy, 1), (Reverse, -1)])
def test_targets_and_alignments(toy: type[Copy] | type[Reverse], step: int) -> None:
    for split, size in (("train", 200), ("val", 20), ("test", 50)):
        pairs = toy(seed=1, **SMALL).load()[split][:]
        assert len(pairs["source"]) == size
        for source, target, alignment in zip(*pairs.values(), strict=True):
            symbols = source.split(" ")
            assert 5 <= len(symbols) <= 15
            assert target.split(" ") == symbols[::step]
            assert [[*symbols, "EOS"][i] for i in alignment] == [*target.split(" "), "EOS"]
            assert sorted(alignment) == list(range(len(symbols) + 1))  # repeated symbols are not mixed up


def test_no_row_stands_twice() -> None:
    splits = Copy(
        seed=1, symbols=3, minimum_length=2, maximum_length=4, train=40, validation=5, test=10
    ).load()
    rows = [row for pairs in splits.values() for row in pairs[:]["source"]]
    assert len(set(rows)) == len(rows) == 55


def test_numbers_at_their_limits() -> None:
    rows = Copy(seed=1, **SMALL | {"symbols": 26, "minimum_length": 4, "maximum_length": 4}).load()["train"]
    assert {len(source.split()) for source in rows["source"]} == {4}


def test_the_seed_is_the_data() -> None:
    assert Copy(seed=1, **SMALL).load()["test"][:] == Copy(seed=1, **SMALL).load()["test"][:]
    assert Copy(seed=1, **SMALL).load()["test"][:] != Copy(seed=2, **SMALL).load()["test"][:]
    assert Copy(seed=1, **SMALL).fingerprint() != Copy(seed=2, **SMALL).fingerprint()
    assert Copy(seed=1, **SMALL).fingerprint() != Reverse(seed=1, **SMALL).fingerprint()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symbols": 27}, "symbols must be 1 to 26, got 27"),
        ({"symbols": 0}, "symbols must be 1 to 26, got 0"),
        ({"minimum_length": 6, "maximum_length": 5}, "got 6 and 5"),
        ({"minimum_length": 0}, "minimum_length"),
        ({"test": 0}, "test must be at least 1, got 0"),
        (
            {"symbols": 2, "minimum_length": 1, "maximum_length": 3},
            "270 different rows are too many.*allow 7",
        ),
        ({"symbols": 2, "minimum_length": 9, "maximum_length": 9}, "270 .*allow 256"),
    ],
)
def test_senseless_numbers(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Copy(seed=1, **SMALL | options)
