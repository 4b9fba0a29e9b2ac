"""Where a stopped run goes on."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities import rank_zero_only

from zoo.core.files import remove_partials
from zoo.core.lock import is_held
from zoo.core.metrics_csv import rewind
from zoo.core.reading import Unreadable
from zoo.loggers import tensorboard
from zoo.runs.boundary import LeadsOutside, require_own
from zoo.runs.frozen import folder_of, moved, require_unused
from zoo.runs.status import State, StatusFile, status_of
from zoo.training.checkpoint import CheckpointError, read_last

LAST = Path("checkpoints") / "last.ckpt"

_SHOWN = 10
_WHERE = ("accelerator", "devices", "num_nodes", "strategy", "use_distributed_sampler")


class CannotResume(ValueError):
    """A run that cannot go on; the message says why, and what to do instead."""


def starting_point(path: Path, config: Mapping[str, Any], resume: bool) -> Path | None:
    """The checkpoint from which a run starts; None to begin at its beginning.

    Args:
        path: its config.yaml.
        config: what stands in it.
        resume: whether it shall go on; otherwise its folder must not have been used.

    Raises:
        CannotResume: it cannot go on.
        ConfigError: the folder has been used.
    """
    folder = folder_of(path)
    if rank_zero_only.rank:  # type: ignore[attr-defined]  # the first process has looked at all that already
        return folder / LAST if resume and (folder / LAST).exists() else None
    _require_own(folder)
    if resume:
        return resume_point(folder, config)
    require_unused(path)
    return None


def resume_point(folder: Path, config: Mapping[str, Any]) -> Path | None:
    """The checkpoint from which a run goes on; None to begin at its beginning.

    Raises:
        CannotResume: it is finished, running, or diverged, only tests another run, its configuration was
            changed, or a link leads out of its folder.
    """
    _require_own(folder)
    said = status_of(folder)  # damaged as by a crash: its checkpoint says how far it came
    state = said.state
    if state is State.FINISHED:
        raise CannotResume(f"{folder} is finished; `zoo rerun` repeats it in a new folder")
    if state is State.RUNNING:
        raise CannotResume(f"{folder} is being run")
    if state is State.DIVERGED:
        raise CannotResume(
            f"{folder} diverged, and would again: train with other settings (`zoo rerun` repeats it as it"
            " was, in a new folder)"
        )
    if said.tests is not None:
        raise CannotResume(f"{folder} is a test of {said.tests}: `zoo test` does it again")
    last = folder / LAST
    if not last.exists():
        return None  # `discard_progress` then puts it back to its beginning
    try:
        trained = read_last(last).config
    except CheckpointError as error:
        raise CannotResume(f"{error}; delete it to begin at the beginning") from error
    changes = list(differences(_anywhere(moved(trained, folder)), _anywhere(config)))
    if changes:
        shown = "".join(f"\n  - {change}" for change in changes[:_SHOWN])
        more = f"\n  and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        raise CannotResume(
            f"{folder}/config.yaml is not what {LAST} was trained with:{shown}{more}\n"
            "Put it back to go on, or train the new configuration in a new folder"
        )
    return last


def _require_own(folder: Path) -> None:
    try:
        require_own(folder)
    except (LeadsOutside, Unreadable) as error:
        raise CannotResume(str(error)) from error


def _anywhere(config: Mapping[str, Any]) -> dict[str, Any]:
    """All but where a run trains, which may change."""
    trainer = {key: value for key, value in config["trainer"].items() if key not in _WHERE}
    return {**config, "trainer": trainer}


def make_ready(folder: Path, overrides: Sequence[str]) -> None:
    """Makes a job's folder one that can be started with `resume`, whatever became of it before.

    A failed run is put back to its beginning: what it logged is kept aside, its checkpoints are removed. One
    whose status.json is damaged gets a new one, and goes on from its last checkpoint.

    Raises:
        FileNotFoundError: the folder is gone.
        ValueError: a process runs in it, whatever its status.json says.
    """
    status, said = StatusFile(folder), status_of(folder)
    if said.state is State.FAILED:
        discard_progress(folder)
        status.start(overrides, State.QUEUED)
    elif said.state is State.DAMAGED:
        if not folder.is_dir():
            raise FileNotFoundError(said.exception)
        if is_held(folder):
            raise ValueError("another process runs it")
        status.start(overrides, State.QUEUED)
        status.end(State.PREEMPTED, exit_code=1, exception=ValueError(said.exception))


def discard_progress(folder: Path) -> None:
    """Removes what a run has made so far, its metrics kept aside; a further process leaves that alone.

    Raises:
        LeadsOutside: a link leads out of the run's folder; nothing was removed.
    """
    if rank_zero_only.rank:  # type: ignore[attr-defined]
        return
    require_own(folder)
    rewind(folder / "metrics.csv", 0)
    for path in (folder / LAST.parent).glob("*.ckpt"):
        path.unlink()
    for name in ("metrics.csv", "results.json", "predictions.jsonl", "samples.txt"):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / tensorboard.FOLDER, ignore_errors=True)
    remove_partials(folder)


def differences(before: Any, now: Any, key: str = "") -> Iterator[str]:
    """Every value that differs between two configurations: its full key, what it was, what it is."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys((*before, *now)):
            full = f"{key}.{name}" if key else str(name)
            if name not in now:
                yield f"{full}: was {before[name]!r}, is missing"
            elif name not in before:
                yield f"{full}: was missing, is {now[name]!r}"
            else:
                yield from differences(before[name], now[name], full)
    elif before != now:
        yield f"{key}: was {before!r}, is {now!r}"
