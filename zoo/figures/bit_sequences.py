"""Sequences of bit vectors, the answers to them, and what heads wrote and read."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from matplotlib.figure import Figure

from zoo.figures.labels import shortened, text_style
from zoo.figures.page import DPI

_TITLE_COLUMNS = 60


class AnsweredSequence(Protocol):
    """One sequence of T steps and its answer, as its task describes it."""

    @property
    def inputs(self) -> Any:
        """`(T, C)`."""

    @property
    def targets(self) -> Any:
        """`(T, O)` in {0, 1}."""

    @property
    def probabilities(self) -> Any:
        """`(T, O)` in [0, 1]."""

    @property
    def read_weights(self) -> Any:
        """`(T, R, N)` in [0, 1], or None."""

    @property
    def write_weights(self) -> Any:
        """`(T, W, N)` in [0, 1], or None."""


def bit_sequence_sheet(sequences: Mapping[str, AnsweredSequence]) -> Figure:
    """Draws a column for each sequence: inputs, targets, answer and error, and the weights of each head.

    Time runs to the right, as in figures 3 to 6 of Graves et al. 2014. An error is the distance between
    target and probability.

    Args:
        sequences: by the name that stands over the column.

    Raises:
        ValueError: there is nothing to draw.
    """
    if not sequences:
        raise ValueError("there is nothing to draw")
    columns = {name: _rows(one) for name, one in sequences.items()}
    names = list(dict.fromkeys(row for rows in columns.values() for row in rows))
    heights = [3.0 if "weights" in name else 1.0 for name in names]
    figure = Figure(
        figsize=(1 + 5 * len(columns), 0.6 + 0.75 * sum(heights)),
        dpi=DPI,
        facecolor="white",
        layout="constrained",
    )
    grid = figure.subplots(len(names), len(columns), squeeze=False, height_ratios=heights)
    for column, (title, rows) in enumerate(columns.items()):
        grid[0, column].set_title(shortened(title, _TITLE_COLUMNS), **text_style(fontsize=10))
        for row, name in enumerate(names):
            axes = grid[row, column]
            axes.set_xticks([])
            axes.set_yticks([])
            if name not in rows:
                axes.set_axis_off()
                continue
            low = -1 if rows[name].min() < 0 else 0
            axes.imshow(
                rows[name].T, vmin=low, vmax=1, cmap="viridis", aspect="auto", interpolation="nearest"
            )
            axes.set_ylabel(name, **text_style(fontsize=8))
        grid[-1, column].set_xlabel("time", **text_style(fontsize=8))
    return figure


def _rows(one: AnsweredSequence) -> dict[str, np.ndarray]:
    targets, answer = np.asarray(one.targets), np.asarray(one.probabilities)
    rows = {
        "inputs": np.asarray(one.inputs),
        "targets": targets,
        "answer": answer,
        "error": np.abs(targets - answer),
    }
    for name, weights in (("write", one.write_weights), ("read", one.read_weights)):
        if weights is not None:
            heads = np.moveaxis(np.asarray(weights), 1, 0)
            for number, of_head in enumerate(heads, start=1):
                rows[f"{name} weights" + (f" {number}" if len(heads) > 1 else "")] = of_head
    return rows
