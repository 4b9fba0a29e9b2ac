"""Learning curves of a group: its runs on one axis."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.core.metrics_csv import read_metrics

_POINTS = 200
"""Of a curve; more than a screen shows apart."""
_WANTED = ("val/", "train/loss")

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Steps and values."""


class Band(NamedTuple):
    """A curve over the runs of a group.

    Attributes:
        steps: where it is known.
        mean: of the runs.
        low, high: the lowest and the highest run.
    """

    steps: list[float]
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]


def read_curves(path: Path) -> dict[str, Points]:
    """Every validation metric and the training loss of a run, thinned out to what a screen shows.

    Args:
        path: its metrics.csv.

    Raises:
        OSError: it cannot be read.
        ValueError: a row is damaged.
    """
    found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for step, name, value in read_metrics(path):
        if name.startswith(_WANTED):
            found[name][0].append(step)
            found[name][1].append(value)
    return {
        name: _thinned(np.array(steps, float), np.array(values)) for name, (steps, values) in found.items()
    }


def kept_curve(results: Mapping[str, Any]) -> dict[str, Points]:
    """The curve that results hold which were kept without their run: of what picked its checkpoint, or none.

    Args:
        results: of the run.

    Raises:
        ValueError: the curve is damaged.
    """
    if not (curve := results.get("learning_curve")):
        return {}
    try:
        steps, values = (np.array(curve[key], float) for key in ("step", "value"))
        if steps.ndim != 1 or steps.shape != values.shape or not len(steps):
            raise ValueError(f"{steps.shape} steps and {values.shape} values")
        return {results["checkpoint"]["metric"]: _thinned(steps, values)}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"the learning_curve in the results of seed {results.get('seed')} is damaged"
        ) from error


def bands(runs: Sequence[Mapping[str, Points]]) -> dict[str, Band]:
    """One band for each metric of the runs.

    Runs are validated at steps that may differ by a few, so values between two steps are interpolated; a
    band ends where the first run does.

    Args:
        runs: the curves of each run.
    """
    found = {}
    for name in {name: None for run in runs for name in run}:
        curves = [run[name] for run in runs if name in run]
        last = min(steps[-1] for steps, _ in curves)
        grid = max((steps for steps, _ in curves), key=len)
        grid = grid[grid <= last] if (grid <= last).any() else np.array([last])
        values = np.stack([np.interp(grid, *curve) for curve in curves])
        mean, low, high = (_rounded(of(values, axis=0)) for of in (np.mean, np.min, np.max))
        found[name] = Band([round(step, 1) for step in grid.tolist()], mean, low, high)
    return found


def _thinned(steps: NDArray[np.float64], values: NDArray[np.float64]) -> Points:
    """Means of neighbours, where there are too many points."""
    if len(steps) <= _POINTS:
        return steps, values
    return tuple(  # type: ignore[return-value]
        np.array([part.mean() for part in np.array_split(numbers, _POINTS)]) for numbers in (steps, values)
    )


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
