"""Loads the runs that a command names."""

import os
import sys
from collections.abc import Sequence
from typing import TypeVar

Kind = TypeVar("Kind")


def is_run(argument: str) -> bool:
    """True for what a command takes for a run: a folder, or a .ckpt file."""
    return os.path.isdir(argument) or argument.endswith(".ckpt")


def load_runs(
    runs: Sequence[str], kind: type[Kind], otherwise: str, *, device: str | None, precision: str
) -> dict[str, Kind]:
    """Loads runs by the names that they are told apart by, and says which weights these are.

    Args:
        runs: folders or files.
        kind: of predictor.
        otherwise: what is said of a run that is of another kind, behind "the model of RUN".
        device: see `zoo.load`.
        precision: see `zoo.load`.

    Raises:
        ValueError: a run is of another kind, or cannot be loaded.
    """
    from zoo.inference.loading import load
    from zoo.tasks.predictor import run_name
    from zoo.tasks.tracking.predictor import Player

    loaded: dict[str, Kind] = {}
    for run in runs:
        predictor = load(run, device=device, precision=precision)
        if not isinstance(predictor, kind):
            plays = "plays games of its own: give nothing but runs like it"
            raise ValueError(f"the model of {run} {plays if isinstance(predictor, Player) else otherwise}")
        print(f"using {predictor.checkpoint}", file=sys.stderr)
        name = run_name(predictor.checkpoint.path)
        loaded[name if name not in loaded else str(run)] = predictor
    return loaded
