"""Splits by sentence."""

import numpy as np
import pytest

from data.core.splitting import position, sentence_key


def test_what_looks_alike_stays_together() -> None:
    alike = ["Don't stop!", "don't  stop.", "DON'T STOP", " Don't stop ?"]
    assert len({sentence_key(sentence) for sentence in alike}) == 1
    assert len({position(sentence) for sentence in alike}) == 1
    assert position("Don't stop!") != position("Do not stop!")
    assert sentence_key("Scho\u0308n") == sentence_key("Schön")


def test_what_has_no_words_is_its_own_key() -> None:
    assert len({sentence_key(sentence) for sentence in ("?!", "...", "🙂")}) == 3


def test_places_are_spread_evenly_and_never_change() -> None:
    places = [position(f"sentence {number}") for number in range(5000)]
    assert np.abs(np.histogram(places, bins=10, range=(0, 1))[0] - 500).max() < 100
    assert position("Hello") == pytest.approx(0.655135, abs=1e-6), "published splits depend on it"
