"""Says what may be meant by a path that leads nowhere."""

from difflib import get_close_matches
from pathlib import Path


def did_you_mean(path: Path) -> str:
    """` (did you mean X?)` with what lies beside and is called nearly so, or nothing."""
    beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    matches = get_close_matches(path.name, beside, n=1)
    return f" (did you mean {path.with_name(matches[0])}?)" if matches else ""
