"""Sheets of bit sequences: a column for each, a row for each thing that is drawn."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zoo.figures import bit_sequence_sheet


def one(steps: int, heads: int | None = 1) -> Any:
    rng = np.random.default_rng(0)
    weights = {}
    for name in ("read_weights", "write_weights"):
        weights[name] = None if heads is None else rng.random((steps, heads, 9))
    return SimpleNamespace(
        inputs=rng.integers(0, 2, (steps, 4)).astype(float),
        targets=rng.integers(0, 2, (steps, 3)).astype(float),
        probabilities=rng.random((steps, 3)),
        **weights,
    )


def test_time_runs_to_the_right_in_every_row() -> None:
    sequences = {"first": one(7, heads=2), "second": one(12, heads=None)}
    figure = bit_sequence_sheet(sequences)
    drawn = {axes.get_ylabel(): axes.images[0].get_array() for axes in figure.axes[::2] if axes.images}
    assert list(drawn) == [
        "inputs",
        "targets",
        "answer",
        "error",
        "write weights 1",
        "write weights 2",
        "read weights 1",
        "read weights 2",
    ]
    first = sequences["first"]
    np.testing.assert_allclose(drawn["inputs"], first.inputs.T)
    np.testing.assert_allclose(drawn["error"], abs(first.targets - first.probabilities).T)
    np.testing.assert_allclose(drawn["read weights 2"], first.read_weights[:, 1].T)
    assert sum(bool(axes.images) for axes in figure.axes[1::2]) == 4, (
        "a model without a memory has no weights"
    )


def test_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        bit_sequence_sheet({})
