"""The end of every run: a checkpoint is tested, and all that it is worth is written into the run's folder."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning.pytorch as pl

from zoo.metrics.kept_items import kept_items
from zoo.runs.frozen import Config
from zoo.runs.predictions import write_predictions
from zoo.runs.report import print_results
from zoo.runs.results import results, write_results
from zoo.tasks.task import Task
from zoo.training.checkpoint import Checkpoint, CheckpointError


def evaluate(
    trainer: pl.Trainer,
    task: Task,
    data: Any,
    *,
    config: Config,
    checkpoint: Checkpoint,
    folder: Path,
    costs: Mapping[str, Any],
) -> None:
    """Tests a checkpoint, unless the tests shall wait, and writes results.json and predictions.jsonl.

    What is drawn at random in a test begins with the run's seed: it depends on nothing but the weights.

    Args:
        trainer: tests, and says which process writes.
        task: gets the checkpoint's weights.
        data: the data module, set up.
        config: the run's.
        checkpoint: what is tested.
        folder: the run's.
        costs: seconds, per_second and peak_memory_bytes of the training, see `results`.

    Raises:
        CheckpointError: the weights are those of another network.
    """
    try:
        task.load_state_dict(checkpoint.state_dict)
    except RuntimeError as error:  # one line for each weight that does not fit, under a title
        raise CheckpointError(
            f"{checkpoint.path} does not fit the network that this data needs: "
            + str(error).splitlines()[1].strip()
        ) from error
    test: dict[str, float] = {}
    seconds = None
    if config["test"]:
        pl.seed_everything(config["seed"], workers=True, verbose=False)
        began = time.perf_counter()
        for part in trainer.test(task, datamodule=data, verbose=False):
            test |= part
        seconds = time.perf_counter() - began
        for split, scores in task.control_scores(data).items():
            test |= {f"{split}/{name}": value for name, value in scores.items()}
    if not trainer.is_global_zero:
        return
    splits = data.test_splits if config["test"] else []
    if config["test"]:
        write_predictions(folder, {split: task.predictions[split] for split in splits})
    measured = results(
        config=config,
        task=type(task),
        spec=data.spec,
        checkpoint=checkpoint,
        folder=folder,
        test=test,
        test_splits=splits,
        parameters=sum(weight.numel() for weight in task.parameters() if weight.requires_grad),
        **costs,
        seconds_of_test=seconds,
        signatures=task.signatures,
        details=task.details() if config["test"] else {},
        data=data.report,
        monitor_unchanged=_monitor_unchanged(trainer),
        fold=getattr(data, "fold", None),
        folds=getattr(data, "folds", None),
    )
    if "test" in splits:
        measured["item_scores"] = kept_items(measured, task.predictions["test"])
    write_results(folder, measured)
    print_results(measured, folder, telling=task.telling)


def _monitor_unchanged(trainer: pl.Trainer) -> dict[str, Any] | None:
    """What results.json says of a monitor that never changed in this training."""
    unchanged = getattr(trainer.checkpoint_callback, "unchanged", None)
    if unchanged is None:
        return None
    return {"validations": unchanged.validations, "instead": unchanged.instead}
