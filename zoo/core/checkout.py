"""The checkout of the project: the folder that holds conf/, data/ and train.py."""

from pathlib import Path


def find_checkout(given: Path | None = None) -> Path | None:
    """The given folder if it is a checkout; by default the nearest from the current one upward."""
    here = Path.cwd()
    for folder in [here, *here.parents] if given is None else [given]:
        if (folder / "conf").is_dir() and (folder / "train.py").is_file():
            return folder
    return None


def require_checkout(given: Path | None = None) -> Path:
    """`find_checkout`, or ValueError with the folders that were searched."""
    found = find_checkout(given)
    if found is None:
        where = f"in {given}" if given else f"in {Path.cwd()} or above: name one with --project"
        raise ValueError(f"found no checkout (a folder with conf/ and train.py) {where}")
    return found
