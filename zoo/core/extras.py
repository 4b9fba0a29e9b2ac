"""Optional packages."""

from importlib.util import find_spec


def require_trackio() -> None:
    """Raises ValueError, with the command that installs it, if Trackio is missing."""
    if find_spec("trackio") is None:
        raise ValueError("Trackio is not installed: pip install 'attention-zoo[trackio]'")


def require_tensorboard() -> None:
    """Raises ValueError, with the command that installs it, if TensorBoard is missing."""
    if find_spec("tensorboard") is None:
        raise ValueError("TensorBoard is not installed: pip install 'attention-zoo[tensorboard]'")
