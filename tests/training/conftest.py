"""A trainer around the fake task, for callbacks."""

from fake_fit import fit, watch

__all__ = ["fit", "watch"]
