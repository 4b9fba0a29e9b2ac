"""Writes a trained model into a folder that travels: `zoo export`."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from zoo.core.files import full_disk_named, require_home, write_json, write_text
from zoo.core.reading import read_json
from zoo.inference.card import model_card
from zoo.inference.loading import trained_task
from zoo.inference.trained_models import place_of
from zoo.runs.status import StatusFile
from zoo.tasks.task import Task
from zoo.training.checkpoint import Checkpoint, own_version, read_checkpoint
from zoo.training.exported import (
    ABOUT,
    CARD,
    CONFIG,
    METRICS,
    TOKENIZER,
    WEIGHTS,
    Exported,
    is_export,
    without_places,
    write_export,
)


class CannotExport(ValueError):
    """A model cannot be exported; the message says which or where to, and why."""


def export(
    run: str | Path, folder: str | Path, *, license_id: str | None = None, overwrite: bool = False
) -> Path:
    """Writes what is needed to use a trained model anywhere.

    Args:
        run: a run's folder, for its best checkpoint, or a checkpoint file.
        folder: a new one; after an error there is none, or the one that was there.
        license_id: the SPDX identifier of the weights' licence, such as `Apache-2.0`, for the model card.
        overwrite: whether the folder may replace an export of the same name.

    Returns:
        The folder.

    Raises:
        CheckpointError: the checkpoint is missing or cannot be used.
        CannotExport: the folder holds something else, or the licence is no identifier.
        ValueError: results.json is damaged.
        OSError: the folder cannot be written.
    """
    folder = Path(folder).expanduser()
    require_free(folder, overwrite, _is_own)
    require_license(license_id)
    checkpoint = unexported(run)
    task = trained_task(checkpoint)
    card, results = described(folder, checkpoint, task, license_id)
    with new_folder(folder) as made:
        write_export(made, _parts(checkpoint), own_version())
        write_json(made / METRICS, without_places(results))
        write_text(made / CARD, card)
        trained_task(read_checkpoint(made))  # what could not be read again is no export
    return folder


def unexported(run: str | Path) -> Checkpoint:
    """The checkpoint of a run; a name may also be that of a model that comes with the package.

    Raises:
        CheckpointError: it is missing or cannot be used.
        CannotExport: it is an export itself.
    """
    checkpoint = read_checkpoint(place_of(run))
    if checkpoint.path.name == WEIGHTS:
        raise CannotExport(
            f"{run} is exported already: copy {checkpoint.path.parent};"
            " other formats are made of the run itself"
        )
    return checkpoint


def described(
    folder: Path, checkpoint: Checkpoint, task: Task, license_id: str | None, usage: str | None = None
) -> tuple[str, dict[str, Any]]:
    """The model card of an export, and the results of its run.

    Args:
        folder: gives the model its name.
        checkpoint: what is exported.
        task: the model.
        license_id: see `export`.
        usage: see `model_card`.
    """
    home = _home(checkpoint.path)
    results, name = _results(home, checkpoint), Path(os.path.realpath(folder)).name
    return model_card(name, checkpoint, task, results, _overrides(home), license_id, usage), results


def require_license(license_id: str | None) -> None:
    """Refuses what is no identifier of a licence.

    Raises:
        CannotExport: says how one looks.
    """
    if license_id is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}", license_id):
        raise CannotExport(
            f"a licence is named by its SPDX identifier, such as Apache-2.0, got {license_id!r}"
        )


def require_free(folder: Path, overwrite: bool, is_own: Callable[[Path], bool]) -> None:
    """Refuses a folder that cannot be made, or that holds anything that an export may not replace.

    Args:
        folder: where to.
        overwrite: whether it may replace a folder of the same kind.
        is_own: whether a folder is of that kind and holds nothing besides.

    Raises:
        CannotExport: says what is there.
    """
    try:
        require_home(folder)
    except OSError as error:
        raise CannotExport(str(error)) from error
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise CannotExport(f"{folder} is there and no folder: name a new one")
    if not any(folder.iterdir()):
        return
    if not is_own(folder):
        raise CannotExport(f"{folder} is not empty, and holds more than an exported model: name a new folder")
    if not overwrite:
        raise CannotExport(f"{folder} holds an exported model: --overwrite replaces it")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Makes a folder so that it is there complete or not at all.

    Yields:
        A folder beside it, which takes its name at the end, and the place of an old one. After an error
        nothing is left of it, nor of the folders above it that were made for it.
    """
    target = Path(os.path.realpath(folder))
    new_parents = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            with full_disk_named(target):
                yield made
                made.chmod(0o777 & ~_umask())
                _take_place(made, target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    finally:
        for parent in new_parents:
            with suppress(OSError):  # it is full: all went well
                parent.rmdir()


def _take_place(made: Path, target: Path) -> None:
    """Renames: an empty folder is replaced by the system, a full one goes out of the way first."""
    if not (target.is_dir() and any(target.iterdir())):
        made.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    target.rename(old)
    try:
        made.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _is_own(folder: Path) -> bool:
    known = {WEIGHTS, CONFIG, ABOUT, METRICS, CARD}
    names = [path.name for path in folder.iterdir()]
    return is_export(folder) and all(name in known or TOKENIZER.fullmatch(name) for name in names)


def _parts(checkpoint: Checkpoint) -> Exported:
    return Exported(
        config=checkpoint.config,
        spec=checkpoint.spec,
        state_dict=checkpoint.state_dict,
        step=checkpoint.step,
        metrics=checkpoint.metrics,
        monitor=checkpoint.monitor,
    )


def _home(checkpoint: Path) -> Path | None:
    """The run's folder, of its checkpoint."""
    folder = checkpoint.absolute().parent
    return folder.parent if folder.name == "checkpoints" else None


def _results(home: Path | None, checkpoint: Checkpoint) -> dict[str, Any]:
    """The run's results if they are those of this checkpoint, else its validation alone."""
    val = {name.removeprefix("val/"): value for name, value in checkpoint.metrics.items()}
    if home is None:
        return {"val": val}
    try:
        found = read_json(home / "results.json")
    except FileNotFoundError:
        return {"val": val}
    tested = found.get("checkpoint") if isinstance(found, dict) else None
    if not isinstance(tested, dict):
        raise CannotExport(f"{home / 'results.json'} is not the results of a run")
    return found if tested.get("step") == checkpoint.step else {"val": val}


def _overrides(home: Path | None) -> list[str] | None:
    if home is None:
        return None
    try:
        return list(StatusFile(home).read().overrides)
    except (OSError, ValueError):
        return None
