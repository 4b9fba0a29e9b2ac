"""What the constructors of networks refuse alike."""


def check_sizes(**sizes: int | None) -> None:
    """Refuses sizes below 1.

    Args:
        sizes: by name; None: there is none.

    Raises:
        ValueError: names the first.
    """
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")


def check_shares(**shares: float) -> None:
    """Refuses dropouts that are no probability below 1.

    Args:
        shares: by name.

    Raises:
        ValueError: names the first.
    """
    for name, share in shares.items():
        if not 0 <= share < 1:
            raise ValueError(f"{name} must be at least 0 and below 1, got {share}")
