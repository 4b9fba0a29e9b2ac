"""Loads the runs that a command names, and asks what their models take."""

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from zoo.inference.trained_models import RECIPES, is_trained

if TYPE_CHECKING:
    from zoo.tasks.inputs import Inputs
    from zoo.tasks.predictor import Predictor

Load = Callable[[str], Any]
"""Loads the run of a name, once; what it returns is a `Predictor`."""


RUN_IS = f"a run's folder, a .ckpt file, or one of {', '.join(RECIPES)}"
"""What a command takes for a run, for messages."""


def is_run(argument: str) -> bool:
    """True for what a command takes for a run: a folder, a file of weights, or a model of the package."""
    return is_trained(argument) or os.path.isdir(argument) or argument.endswith((".ckpt", ".safetensors"))


def loader(*, device: str | None, precision: str) -> Load:
    """What loads runs, see `zoo.load`; ValueError where one cannot be loaded."""
    from zoo.inference.loading import load

    return cache(lambda run: load(run, device=device, precision=precision))


def require_inputs(
    runs: Sequence[str], inputs: "Inputs | None", otherwise: "Callable[[Predictor], str]", load: Load
) -> "dict[str, Any]":
    """Loads runs by the names that they are told apart by, and says which weights these are.

    Args:
        runs: folders or files.
        inputs: what their models must take; None for models without input.
        otherwise: what is said, behind "the model of RUN", of a model that takes another of the inputs that
            can be given on a command line.
        load: see `loader`.

    Returns:
        Their predictors.

    Raises:
        ValueError: a run's model takes something else, or cannot be loaded.
    """
    from zoo.tasks.inputs import PAIRS, PICTURES, SENTENCES
    from zoo.tasks.predictor import run_name

    loaded = {}
    for run in runs:
        predictor = load(run)
        taken = predictor.inputs()
        if taken != inputs:
            if taken is None:
                said = "plays games of its own: give nothing but runs like it"
            elif taken in (SENTENCES, PAIRS, PICTURES):
                said = otherwise(predictor)
            else:
                said = f"takes {taken.words}: use it from Python, zoo.load({run!r}).predict({taken.example})"
            raise ValueError(f"the model of {run} {said}")
        print(f"using {predictor.checkpoint}", file=sys.stderr)
        name = run_name(predictor.checkpoint.path)
        loaded[name if name not in loaded else str(run)] = predictor
    return loaded


def require_options(run: str, options: "Mapping[str, Any]", load: Load) -> None:
    """Refuses options that a run's model does not have.

    Args:
        run: its folder or file.
        options: what was given, by the names of arguments.
        load: see `loader`.

    Raises:
        ValueError: it lacks one, or the run cannot be loaded.
    """
    predictor = load(run)
    ask = getattr(predictor, "play" if predictor.without_input else "predict", None)
    known = inspect.signature(ask).parameters if ask else {}
    if unknown := [f"--{name.replace('_', '-')}" for name in options if name not in known]:
        raise ValueError(f"the model of {run} takes no {', '.join(unknown)}")


def asks_for(inputs: "Inputs | None", line: str = "FILE") -> str:
    """What a model that takes SENTENCES or PAIRS is to be given on the command line.

    Args:
        inputs: what it takes.
        line: the file that a user may have meant.
    """
    from zoo.tasks.inputs import PAIRS

    if inputs == PAIRS:
        return f"takes two texts: give both, or --file {line} for lines of two texts with a tab between them"
    return f"takes sentences: give one, or --file {line} for the sentences in that file"


def require_alike(predictors: "Mapping[str, Predictor]", picture: object) -> None:
    """Refuses to draw models of several kinds in one picture, and models that draw nothing.

    Raises:
        ValueError: they are not of one kind, or cannot be drawn.
    """
    if len({type(predictor) for predictor in predictors.values()}) > 1:
        raise ValueError(f"cannot draw {picture}: the models of {', '.join(predictors)} do not do the same")
    name, first = next(iter(predictors.items()))
    if not hasattr(first, "draw"):
        raise ValueError(
            f"cannot draw {picture}: {type(first).__name__}, the predictor of {name}, draws nothing"
        )
