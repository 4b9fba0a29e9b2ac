"""Counts of words that two texts share."""

import pytest

from zoo.core.overlap import shared_words
from zoo.core.spec import DataSpec, OverlapSpec

SPEC = OverlapSpec({"the": 0.0, "cave": 0.25})


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("the ice cave", "The CAVE of ice .", (2, 1.25)),  # ice is rare: 1
        ("the the", "the", (0, 0)),
        ("a cave , cave", "cave", (1, 0.25)),  # each word once
        ("ice", "icy", (0, 0)),
        ("Straße", "STRASSE", (1, 1)),
    ],
)
def test_words_are_counted_and_weighted(left: str, right: str, expected: tuple[float, float]) -> None:
    assert shared_words(left, right, SPEC) == expected == shared_words(right, left, SPEC)


def test_weights_come_back_from_a_checkpoint() -> None:
    spec = DataSpec("pairs", {"overlap": SPEC})
    again = DataSpec.from_dict(spec.to_dict())
    assert again == spec
    assert again.fields["overlap"] == SPEC


@pytest.mark.parametrize("weight", [-0.1, 1.5, "1", None, True, float("nan")])
def test_weights_without_a_meaning_are_refused(weight: object) -> None:
    described = DataSpec("pairs", {"overlap": SPEC}).to_dict()
    described["fields"]["overlap"]["weights"]["cave"] = weight
    with pytest.raises(ValueError, match="the weight of 'cave' must be a number from 0 to 1"):
        DataSpec.from_dict(described)
