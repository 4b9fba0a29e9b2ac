"""The checkout of the project: the folder that holds conf/, data/ and train.py."""

import importlib.util
import sys
from pathlib import Path


def find_checkout(given: Path | None = None) -> Path | None:
    """The given folder if it is a checkout.

    By default the nearest one from the current folder upward, or the one that this package lies in.
    """
    here = Path.cwd()
    for folder in [here, *here.parents, _own()] if given is None else [given]:
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


def package_checkout() -> Path | None:
    """The checkout that this package lies in, else the nearest from the current folder upward."""
    return find_checkout(_own()) or find_checkout()


def import_from_checkout() -> None:
    """Makes `data` importable: only `zoo` is installed, and `train.py` alone finds `data` beside itself."""
    found = importlib.util.find_spec("data")
    is_plain_folder = found is not None and found.origin is None  # such as the data/ of the current folder
    if (found is None or is_plain_folder) and (checkout := package_checkout()):
        sys.path.append(str(checkout))


def _own() -> Path:
    """The folder that this package lies in: no checkout where the package is installed elsewhere."""
    return Path(__file__).resolve().parents[2]
