"""Checks of the arguments of networks."""

from zoo.core.spec import TextSpec


def check_sizes(**sizes: int | None) -> None:
    """Raises ValueError for the first size below 1; None is allowed."""
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")


def check_dropouts(**probabilities: float) -> None:
    """Raises ValueError for the first dropout that is not in [0, 1)."""
    for name, probability in probabilities.items():
        if not 0 <= probability < 1:
            raise ValueError(f"{name} must be at least 0 and below 1, got {probability}")


def require_one_vocabulary(left: TextSpec, right: TextSpec) -> None:
    """Raises ValueError where the texts of a pair have other numbers for the same words."""
    if left.tokenizer != right.tokenizer:
        raise ValueError("one vector of a word serves both texts of a pair: set data.tokenizer.joint=true")
