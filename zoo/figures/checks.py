"""Arrays that cannot be drawn are refused before anything is."""

from typing import Any

import numpy as np

_TOLERANCE = 1e-3  # means of pixels in half precision


def within(name: str, values: np.ndarray[Any, np.dtype[Any]], low: float, high: float) -> None:
    """Refuses values out of their range, and those that are no numbers.

    Args:
        name: of the values, for the message.
        values: any.
        low: the least.
        high: the greatest.

    Raises:
        ValueError: some are out of range.
    """
    # Written so that what is no number is wrong, too.
    wrong = ~((values >= low - _TOLERANCE) & (values <= high + _TOLERANCE))
    if wrong.any():
        raise ValueError(f"{name} must be in [{low}, {high}], got {float(values[wrong].flat[0]):g}")
