"""Numbers as a terminal shows them."""

import math

_SMALL, _LARGE, _HUGE = 1e-3, 1e4, 1e6


def readable(value: float) -> str:
    """Four digits of a number, at most four places, without an exponent as long as that can be read.

    A share of 7e-10 is 0.0000 to a reader; results.json and metrics.csv have all digits.
    """
    if not math.isfinite(value) or abs(value) >= _HUGE:
        return f"{value:.4g}"
    if abs(value) >= _LARGE:
        return f"{value:,.0f}"
    return f"{value:z.4f}" if 0 < abs(value) < _SMALL else f"{value:.4g}"
