"""Checks of the arguments of networks."""


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
