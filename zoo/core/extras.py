"""Packages that not every installation has."""

from importlib.util import find_spec


def require_tensorboard() -> None:
    """Says how TensorBoard is installed, where it is not.

    Raises:
        ValueError: it is not.
    """
    if find_spec("tensorboard") is None:
        raise ValueError("TensorBoard is not installed: pip install 'attention-zoo[tensorboard]'")
