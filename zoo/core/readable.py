"""Numbers as a terminal shows them."""

import math

_SMALL, _LARGE = 1e-3, 1e4
_LONGEST = 12


def readable(value: float) -> str:
    """A number with four significant digits, at most four decimals, and no exponent below 12 characters.

    A share of 7e-10 is 0.0000; results.json and metrics.csv have all digits.
    """
    if 0 < abs(value) < _SMALL:
        return f"{value:z.4f}"
    whole = f"{value:,.0f}"
    readable_whole = math.isfinite(value) and abs(value) >= _LARGE and len(whole) <= _LONGEST
    return whole if readable_whole else f"{value:.4g}"
