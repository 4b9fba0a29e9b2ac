"""Optional packages."""

from collections.abc import Sequence
from importlib.util import find_spec

_WRITTEN = {"tensorboard": "TensorBoard", "trackio": "Trackio"}
"""How programs write their own names, where that is not the package's."""


def require(packages: Sequence[str], extra: str) -> None:
    """Raises ValueError, with the command that installs them, if packages of an extra are missing."""
    if missing := [_WRITTEN.get(name, name) for name in packages if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{', '.join(missing)} {verb} not installed: pip install 'attention-zoo[{extra}]'")
