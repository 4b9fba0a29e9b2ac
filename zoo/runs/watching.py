"""Where the dashboards find what they show of a folder."""

from collections.abc import Sequence
from pathlib import Path

from zoo.core.reading import read_yaml
from zoo.loggers.trackio import FOLDER
from zoo.loggers.wandb_id import wandb_id

_EVENTS = "events.out.tfevents.*"


class NothingToWatch(ValueError):
    """A folder without anything that a dashboard shows; the message says what to do."""


def wandb_records(folder: Path, *, newest: bool = False) -> Path:
    """What `wandb leet` shall open.

    Args:
        folder: a run's, a sweep's, one of many of them, or W&B's own.
        newest: of several runs one, the last that wrote anything.

    Returns:
        Of one run its newest .wandb file, else W&B's folder of all runs.

    Raises:
        NothingToWatch: there is none, or none of these runs has written any.
    """
    require_folder(folder)
    if file := next(folder.glob("run-*.wandb"), None):  # W&B's own folder of one run
        return file
    for records in (folder, folder / "wandb"):
        if _ids(records):
            return records
    runs = sorted(path.parent for path in folder.rglob("status.json"))
    if not runs:
        raise NothingToWatch(f"nothing to watch: there is no run in {folder}")
    common = next((records for records in _places(runs, folder) if _ids(records)), None)
    alone = runs == [folder]
    wanted = {wandb_id(folder)} if alone else {identity for run in runs if (identity := _wandb_id(run))}
    if common is None or not wanted & _ids(common):
        raise NothingToWatch(
            f"nothing to watch: no run in {folder} has written anything for W&B: none has begun, or they log"
            " elsewhere (logger=wandb is the default); metrics.csv in a run's folder has every number"
        )
    if newest or alone:
        files = [file for one in wanted for file in common.glob(f"*run-*-{one}*/*.wandb")]
        return max(files, key=lambda file: file.stat().st_mtime)
    return common


def offline_records(folder: Path) -> list[Path]:
    """The .wandb files that the runs of a folder recorded offline, the oldest first.

    Args:
        folder: a run's, a sweep's, or one of many of them.

    Raises:
        NothingToWatch: it does not exist, or there is no run in it.
    """
    require_folder(folder)
    runs = sorted(path.parent for path in folder.rglob("status.json"))
    if not runs:
        raise NothingToWatch(f"there is no run in {folder}")
    places = {records.resolve() for records in (*_places(runs, folder), folder / "wandb")}
    wanted = {identity for run in runs if (identity := _wandb_id(run))}
    files = [file for place in places for file in place.glob("offline-run-*/run-*.wandb")]
    return sorted(file for file in files if file.stem.removeprefix("run-") in wanted)


def trackio_data(folder: Path) -> Path:
    """The folder of the data that `logger=trackio` recorded of all runs.

    Args:
        folder: a run's, a sweep's, one of many of them, or that of the data.

    Raises:
        NothingToWatch: there is none.
    """
    require_folder(folder)
    places = (folder, *folder.resolve().parents)
    found = next((place / FOLDER for place in places if any((place / FOLDER).glob("*.db"))), None)
    if found is None:
        raise NothingToWatch(
            f"nothing to watch: no run in {folder} has written anything for Trackio; train with"
            " logger=trackio"
        )
    return found


def require_events(folder: Path) -> None:
    """Refuses a folder without event files, of which TensorBoard would show an empty page.

    Raises:
        NothingToWatch: there are none.
    """
    require_folder(folder)
    if next(folder.rglob(_EVENTS), None) is None:
        raise NothingToWatch(
            f"nothing to watch: {folder} has no event files; train with logger=tensorboard, "
            "or with logger=[wandb,tensorboard]"
        )


def require_folder(folder: Path) -> None:
    """Refuses what is no folder.

    Raises:
        NothingToWatch: it is a file, or does not exist.
    """
    if not folder.is_dir():
        from zoo.training.checkpoint import nearest  # here, because it takes seconds

        said = "is a file, not a folder" if folder.exists() else f"does not exist{nearest(folder)}"
        raise NothingToWatch(f"{folder} {said}")


def _places(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Where W&B's folder of some runs may be: as configured, or beside where the runs were moved to."""
    places = (*(place for run in runs if (place := _wandb_dir(run))), *folder.resolve().parents)
    return [place / "wandb" for place in dict.fromkeys(places)]


def _ids(records: Path) -> set[str]:
    """The W&B ids of all runs in a folder of W&B's."""
    return {file.stem.removeprefix("run-") for file in records.glob("*run-*/run-*.wandb")}


def _wandb_id(run: Path) -> str | None:
    try:
        return wandb_id(run)
    except ValueError:  # its file is damaged: the other runs can be watched
        return None


def _wandb_dir(run: Path) -> Path | None:
    try:
        return Path(read_yaml(run / "config.yaml")["paths"]["wandb_dir"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
