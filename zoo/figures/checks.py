"""Checks of arrays before they are drawn."""

from typing import Any

import numpy as np

_TOLERANCE = 1e-3  # means of pixels in half precision


def require_range(name: str, values: np.ndarray[Any, np.dtype[Any]], low: float, high: float) -> None:
    """Raises ValueError, with the name, when a value is NaN or out of [low, high]."""
    wrong = ~((values >= low - _TOLERANCE) & (values <= high + _TOLERANCE))  # NaN compares false
    if wrong.any():
        raise ValueError(f"{name} must be in [{low}, {high}], got {float(values[wrong].flat[0]):g}")
