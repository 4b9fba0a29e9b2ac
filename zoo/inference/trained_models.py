"""Trained models that come with the package: `zoo predict dates "3. März 2021"` works before any training."""

import os
from pathlib import Path

RECIPES = {"dates": "dates_bahdanau", "digits": "ram_digits", "shapes": "shapes_small"}
"""The models, and the recipe of each: `make trained` trains and exports them again."""
PREFIX = "zoo:"
"""Before a name it means the model that comes with the package, whatever lies in the current folder."""
FOLDER = Path(__file__).with_name("trained")


def is_trained(name: str) -> bool:
    """Whether a name means a model that comes with the package; a file or folder of that name comes first."""
    return name.removeprefix(PREFIX) in RECIPES and not os.path.lexists(name)


def place_of(run: str | Path) -> Path:
    """The folder of a model that comes with the package, or the path as it is."""
    return FOLDER / str(run).removeprefix(PREFIX) if is_trained(str(run)) else Path(run)


def hint(run: str | Path) -> str:
    """What to say of a file or folder that has the name of a model and cannot be used; else nothing."""
    name = str(run)
    return f"; the model that comes with the package is {PREFIX}{name}" if name in RECIPES else ""
