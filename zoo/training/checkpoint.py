"""Checkpoints that describe themselves, so that each can be used alone, in a fresh process.

A checkpoint is Lightning's file with, under the key `zoo`, the configuration, the vocabularies and the
validation metrics of that step. It holds tensors and plain containers only.
"""

import difflib
import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zoo.core.aliases import with_current_names
from zoo.core.reading import Unreadable, require_regular
from zoo.core.spec import DataSpec
from zoo.training.checkpoint_content import damage, finite_weights, require_usable, step_of
from zoo.training.checkpoint_io import AtomicIO
from zoo.training.exported import ABOUT, WEIGHTS, is_export, read_export
from zoo.training.progress import require_progress

FORMAT = 1
BEST = Path("checkpoints") / "best.ckpt"
_TRAINING_ONLY = ("optimizer_states", "lr_schedulers", "loops", "trained_weights")
_PICKERS = ("BestCheckpoint", "ModelCheckpoint")
"""How the state keys of callbacks that pick a checkpoint begin, now and in earlier versions."""


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message says which and why."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that has been read.

    Attributes:
        path: the file with the weights.
        config: the run's resolved configuration.
        spec: the data that the model was trained on.
        state_dict: the task's weights, on the CPU.
        step: the training step at which it was written.
        metrics: the validation metrics of that step.
        monitor: the metric that picked it; None where none did.
    """

    path: Path
    config: dict[str, Any]
    spec: DataSpec
    state_dict: dict[str, Tensor]
    step: int
    metrics: dict[str, float]
    monitor: str | None

    @property
    def metric(self) -> tuple[str, float] | None:
        """The name and value of the metric that picked this checkpoint; None where none did."""
        if self.monitor is None or self.monitor not in self.metrics:
            return None
        return self.monitor, self.metrics[self.monitor]

    def __str__(self) -> str:
        chosen = "" if self.metric is None else f", {self.metric[0]} {self.metric[1]:.4g}"
        return f"{self.path} (step {self.step}{chosen})"


def require_vocabulary(data: DataSpec, trained: DataSpec) -> None:
    """Refuses data with another vocabulary than that of the data that a model was trained on.

    Raises:
        CheckpointError: the vocabularies differ.
    """
    if data.vocabulary_hash != trained.vocabulary_hash:
        raise CheckpointError(
            f"the checkpoint was trained with another vocabulary ({trained.name}, "
            f"{trained.vocabulary_hash[:12]}) than the data has ({data.name}, {data.vocabulary_hash[:12]}): "
            "its ids would mean other words; use the data it was trained on, or train anew"
        )


def contents(
    config: Mapping[str, Any], spec: DataSpec, metrics: Mapping[str, Tensor | float] | None = None
) -> dict[str, Any]:
    """The entry `zoo` of a checkpoint.

    Args:
        config: the resolved configuration in plain containers.
        spec: the data.
        metrics: `trainer.callback_metrics`, of which those of the validation are kept.
    """
    return {
        "format": FORMAT,
        "version": own_version(),
        "config": dict(config),
        "spec": spec.to_dict(),
        "metrics": {name: float(value) for name, value in (metrics or {}).items() if name.startswith("val/")},
    }


def own_version() -> str:
    """The version of this package."""
    try:
        return version("attention-zoo")
    except PackageNotFoundError:
        return "not installed"  # the source code alone, as benchmarks/gpu.py runs it


def find_checkpoint(run: str | Path) -> Path:
    """The path of a checkpoint file, of the best checkpoint in a run's folder, or of an export's weights.

    Raises:
        CheckpointError: there is none; the message says what is there.
    """
    path = Path(run).expanduser()
    if path.is_dir():
        if (path / BEST).exists():
            return path / BEST
        if is_export(path):
            return path / WEIGHTS
        others = sorted(str(file.relative_to(path)) for file in path.rglob("*.ckpt"))
        found = (
            f"it has {', '.join(others)}: name the file to use it"
            if others
            else f"it has none at all, and no {ABOUT}, which an exported model has"
        )
        raise CheckpointError(f"{path} has no {BEST.as_posix()}; {found}")
    if not path.exists():
        raise CheckpointError(f"{path} does not exist{nearest(path)}")
    return path


def nearest(path: Path) -> str:
    """`; did you mean X?` for a path that does not exist, or nothing."""
    existing, wrong = path.absolute(), ""
    while not os.path.exists(existing):  # unlike `Path.exists`, for names of any length
        wrong, existing = existing.name, existing.parent
    try:
        names = [entry.name for entry in existing.iterdir()]
    except OSError:
        names = []
    matches = difflib.get_close_matches(wrong, names, n=1)
    return f"; did you mean {existing / matches[0]}?" if matches else ""


def read_checkpoint(run: str | Path) -> Checkpoint:
    """Reads a checkpoint file, the best checkpoint of a run's folder, or an export, and runs no code from it.

    Raises:
        CheckpointError: it is missing or damaged, holds more than tensors and plain containers, was not
            written by this project, has another format, or has weights that are not finite.
    """
    path = find_checkpoint(run)
    if path.suffix == Path(WEIGHTS).suffix:
        return _of_export(path)
    return _parsed(path, _load(path))


def read_last(path: Path) -> Checkpoint:
    """Reads a checkpoint to resume a training from.

    Raises:
        CheckpointError: see `read_checkpoint`; or it lacks something that a training needs.
    """
    loaded = _load(path)
    checkpoint = _parsed(path, loaded)
    try:
        require_progress(loaded)
    except ValueError as error:
        raise CheckpointError(f"{path} cannot be gone on from: {error}") from error
    return checkpoint


def _parsed(path: Path, loaded: Any) -> Checkpoint:
    described = loaded.get("zoo") if isinstance(loaded, dict) else None
    if not isinstance(described, dict) or "format" not in described:
        raise CheckpointError(f"{path} is not a checkpoint of this project: it has no key `zoo`")
    if described["format"] != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {described['format']} (of version {described.get('version')}); "
            f"this version ({own_version()}) reads format {FORMAT}"
        )
    try:
        spec = DataSpec.from_dict(described["spec"])
        return Checkpoint(
            path=path,
            config=with_current_names(dict(described["config"])),
            spec=spec,
            state_dict=finite_weights(loaded["state_dict"]),
            step=step_of(loaded["global_step"]),
            metrics={name: float(value) for name, value in described["metrics"].items()},
            monitor=_monitor(loaded.get("callbacks", {})),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(f"{path} is damaged: {reason}") from error


def _of_export(path: Path) -> Checkpoint:
    try:
        found = read_export(path.parent)
    except ValueError as error:
        raise CheckpointError(str(error)) from error
    return Checkpoint(path=path, **{**found._asdict(), "config": with_current_names(found.config)})


def strip_optimizer(path: Path) -> None:
    """Rewrites a checkpoint without the state that only training needs."""
    loaded = _load(Path(path))
    for key in _TRAINING_ONLY:
        loaded.pop(key, None)
    for state in loaded["callbacks"].values():
        for weights in ("kept", "moving"):  # of which the averages of `Averaging` are made
            state.pop(weights, None)
    AtomicIO().save_checkpoint(loaded, path)


def _check_archive(path: Path) -> None:
    try:
        require_regular(path)
        broken = damage(path)
    except Unreadable as error:
        raise CheckpointError(str(error)) from error
    except zipfile.BadZipFile as error:
        reason = "it is cut off, or something else" if path.stat().st_size else "it is empty"
        raise CheckpointError(f"{path} is not a readable checkpoint: {reason}") from error
    if broken:
        raise CheckpointError(f"{path} is damaged: {broken}")


def _load(path: Path) -> Any:
    try:
        _check_archive(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that torch then refuses
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except CheckpointError:
        raise
    except Exception as error:  # whatever a damaged archive makes torch raise
        refused = re.search(r"GLOBAL (\S+)", str(error))  # the one part of torch's page that says something
        if isinstance(error, pickle.UnpicklingError) and refused:
            raise CheckpointError(
                f"{path} is refused: it holds {refused[1]}, and Python objects could run code; checkpoints "
                "hold tensors and plain containers only"
            ) from error
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        if isinstance(error, pickle.UnpicklingError):
            reason = "its content is something else"
        raise CheckpointError(f"{path} is not a readable checkpoint: {reason}") from error
    try:
        require_usable(loaded)
    except ValueError as error:
        raise CheckpointError(f"{path} is refused: {error}") from error
    return loaded


def _monitor(callbacks: Mapping[str, Any]) -> str | None:
    for name, state in callbacks.items():
        if name.startswith(_PICKERS) and state.get("monitor") is not None:
            return str(state["monitor"])
    return None
