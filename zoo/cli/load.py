"""Loads the runs that a command names."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from zoo.tasks.predictor import Predictor

Kind = TypeVar("Kind")


def is_run(argument: str) -> bool:
    """True for what a command takes for a run: a folder, or a .ckpt file."""
    return os.path.isdir(argument) or argument.endswith(".ckpt")


def load_runs(
    runs: Sequence[str],
    kind: type[Kind],
    otherwise: "Callable[[Predictor], str]",
    *,
    device: str | None,
    precision: str,
) -> dict[str, Kind]:
    """Loads runs by the names that they are told apart by, and says which weights these are.

    Args:
        runs: folders or files.
        kind: of predictor.
        otherwise: what is said of a predictor of another kind, behind "the model of RUN".
        device: see `zoo.load`.
        precision: see `zoo.load`.

    Raises:
        ValueError: a run is of another kind, or cannot be loaded.
    """
    from zoo.inference.loading import load
    from zoo.tasks.picture_predictor import PicturePredictor
    from zoo.tasks.player import Player
    from zoo.tasks.predictor import run_name
    from zoo.tasks.text_predictor import TextPredictor

    loaded: dict[str, Kind] = {}
    for run in runs:
        predictor = load(run, device=device, precision=precision)
        if not isinstance(predictor, kind):
            if isinstance(predictor, Player):
                said = "plays games of its own: give nothing but runs like it"
            elif isinstance(predictor, (TextPredictor, PicturePredictor)):
                said = otherwise(predictor)
            else:
                takes = predictor.predict.takes  # `zoo.tasks.inputs.takes` put it there
                said = f"takes {takes.words}: use it from Python, zoo.load({run!r}).predict({takes.example})"
            raise ValueError(f"the model of {run} {said}")
        print(f"using {predictor.checkpoint}", file=sys.stderr)  # type: ignore[attr-defined]
        name = run_name(predictor.checkpoint.path)  # type: ignore[attr-defined]
        loaded[name if name not in loaded else str(run)] = predictor
    return loaded


def require_alike(predictors: "Mapping[str, Predictor]", picture: object) -> None:
    """Refuses to draw models of several kinds in one picture.

    Raises:
        ValueError: they are not of one kind.
    """
    if len({type(predictor) for predictor in predictors.values()}) > 1:
        raise ValueError(
            f"cannot draw {picture}: what the models of {', '.join(predictors)} do looks different"
        )
