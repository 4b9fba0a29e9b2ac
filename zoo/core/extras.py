"""Optional packages."""

from collections.abc import Sequence
from importlib.util import find_spec


def require_trackio() -> None:
    """Raises ValueError, with the command that installs it, if Trackio is missing."""
    if find_spec("trackio") is None:
        raise ValueError("Trackio is not installed: pip install 'attention-zoo[trackio]'")


def require(packages: Sequence[str], extra: str) -> None:
    """Raises ValueError, with the command that installs them, if packages of an extra are missing."""
    if missing := [name for name in packages if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{', '.join(missing)} {verb} not installed: pip install 'attention-zoo[{extra}]'")


def require_tensorboard() -> None:
    """Raises ValueError, with the command that installs it, if TensorBoard is missing."""
    if find_spec("tensorboard") is None:
        raise ValueError("TensorBoard is not installed: pip install 'attention-zoo[tensorboard]'")
