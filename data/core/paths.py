"""Finds files, and says what may be meant by a path that leads nowhere."""

from difflib import get_close_matches
from pathlib import Path


def packed_or_not(folder: Path, name: str) -> Path | None:
    """The file of that name, packed as `.gz` or not; None where there is neither."""
    return next((path for path in (folder / f"{name}.gz", folder / name) if path.is_file()), None)


def did_you_mean(path: Path) -> str:
    """` (did you mean X?)` with what lies beside and is called nearly so, or nothing."""
    beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    matches = get_close_matches(path.name, beside, n=1)
    return f" (did you mean {path.with_name(matches[0])}?)" if matches else ""
