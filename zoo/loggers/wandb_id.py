"""The id by which W&B knows a run."""

import hashlib
import re
from pathlib import Path

from zoo.core.files import write_text
from zoo.core.reading import Unreadable, read_text

_WANDB_ID = "wandb_id.txt"


def short_id(folder: Path) -> str:
    """The id at the end of a run folder's name; a hash of any other name."""
    name = folder.resolve().name
    drawn = name.rpartition("_")[2]
    return drawn if re.fullmatch(r"[0-9a-f]{8}", drawn) else hashlib.sha256(name.encode()).hexdigest()[:8]


def wandb_id(folder: Path) -> str:
    """The W&B id of a run: the id that a W&B agent drew where one started the run, else the short id.

    Raises:
        ValueError: the file of the id is damaged.
    """
    path = folder / _WANDB_ID
    try:
        return read_text(path)
    except OSError:
        return short_id(folder)
    except Unreadable as error:
        raise ValueError(f"{path} is damaged, and W&B's id of the run with it: it {error.reason}") from error


def keep_wandb_id(folder: Path, identity: str) -> None:
    """Stores the id that a W&B agent drew, to resume and to watch the run."""
    write_text(folder / _WANDB_ID, identity)
