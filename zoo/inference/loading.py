"""Loads trained models: `zoo.load(run)`."""

from pathlib import Path
from typing import Any

from zoo.config.check import misfits
from zoo.config.instantiate import instantiate
from zoo.core.problems import ConfigError
from zoo.inference.skeleton import enormous, require_fit, strangers
from zoo.inference.trained_models import hint, place_of
from zoo.tasks.predictor import Predictor
from zoo.tasks.task import Task
from zoo.training.checkpoint import Checkpoint, CheckpointError, read_checkpoint
from zoo.training.exported import WEIGHTS


def load(run: str | Path, *, device: str | None = None, precision: str = "32-true") -> Any:
    """Loads a trained model.

    Args:
        run: a run's folder, for its best checkpoint, a folder that `zoo export` wrote, a checkpoint file, or
            the name of a model that comes with the package: `dates`, `digits` or `shapes`.
        device: such as `cpu` or `cuda:1`; None for the GPU where there is one.
        precision: `32-true`, `bf16-mixed` or `int8`, see `Predictor`.

    Returns:
        The predictor of the model's task.

    Raises:
        CheckpointError: the checkpoint is missing or cannot be used.
        ValueError: there is no such device or precision.
    """
    try:
        return predictor_of(read_checkpoint(place_of(run)), device=device, precision=precision)
    except CheckpointError as error:
        raise CheckpointError(f"{error}{hint(run)}") from error


def predictor_of(checkpoint: Checkpoint, *, device: str | None, precision: str) -> Predictor:
    """The predictor of a checkpoint's task.

    Raises:
        CheckpointError: the model cannot be built, or its task predicts nothing.
        ValueError: there is no such device or precision.
    """
    task = trained_task(checkpoint)
    if task.predictor is None:
        raise CheckpointError(
            f"{checkpoint.path} holds a model of {type(task).__name__}, which predicts nothing"
        )
    return task.predictor(checkpoint, task, device=device, precision=precision)


def trained_task(checkpoint: Checkpoint) -> Task:
    """Builds the model that a checkpoint describes.

    Raises:
        CheckpointError: the weights do not fit the model that the configuration describes.
    """
    try:
        exported = checkpoint.path.name == WEIGHTS
        problems = list(strangers(checkpoint.config)) if exported else []
        problems += enormous(checkpoint.config.get("model"), "model")
        if problems := [*problems, *misfits(checkpoint.config)]:
            raise ConfigError(problems)
        require_fit(checkpoint)
        network = instantiate(checkpoint.config["model"], "model")(spec=checkpoint.spec)
        task = instantiate(checkpoint.config["task"], "task")(network=network, spec=checkpoint.spec)
        if not isinstance(task, Task):
            raise TypeError(f"{type(task).__name__} is no task")
    except Exception as error:  # whatever constructors raise
        raise CheckpointError(
            f"{checkpoint.path} describes a model that cannot be built: {_one_line(error)}"
        ) from error
    _require_kinds(checkpoint, task)
    try:
        task.load_state_dict(checkpoint.state_dict)
        if broken := [name for name, weight in task.state_dict().items() if not weight.isfinite().all()]:
            raise RuntimeError(f"{broken[0]} is not finite in the model's precision")
    except RuntimeError as error:
        raise CheckpointError(
            f"{checkpoint.path} does not fit the model that its configuration describes: {_one_line(error)}"
        ) from error
    return task


def _require_kinds(checkpoint: Checkpoint, task: Task) -> None:
    """Refuses whole numbers in the place of weights, which torch would convert."""
    for name, weight in task.state_dict().items():
        given = checkpoint.state_dict.get(name)
        if given is not None and given.is_floating_point() != weight.is_floating_point():
            raise CheckpointError(f"{checkpoint.path} is damaged: {name} holds {given.dtype}")


def _one_line(error: Exception) -> str:
    """The message of an error, with its class where the message alone may be only a key."""
    if isinstance(error, ConfigError):
        return "; ".join(map(str, error.problems))
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError | RuntimeError) else f"{type(error).__name__}: {text}"
