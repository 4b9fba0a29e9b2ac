"""`zoo predict` with pictures."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from zoo.cli.ask import answered, ask, write
from zoo.cli.load import RUN_IS, Load, asks_for, is_run, require_alike, require_inputs


def pictures_behind(arguments: Sequence[str]) -> list[str]:
    """The pictures behind the runs: whatever follows them, as soon as a file is among it.

    Returns:
        Files; none where what follows is a sentence, or nothing.

    Raises:
        ValueError: beside files there is something else, or there is no run before them.
    """
    first = next((place for place, argument in enumerate(arguments) if not is_run(argument)), len(arguments))
    pictures = list(arguments[first:])
    files = [picture for picture in pictures if os.path.isfile(picture) and not is_run(picture)]
    if not files:
        return []
    if len(files) < len(pictures):
        raise ValueError("; ".join(_mistaken(picture) for picture in pictures if picture not in files))
    if not first:
        raise ValueError(f"no run before {pictures[0]}: {RUN_IS} comes first")
    return pictures


def _mistaken(argument: str) -> str:
    from zoo.training.checkpoint import nearest

    if os.path.exists(argument):
        return f"{argument} is no picture (runs come first, then pictures, file by file)"
    return f"{argument} does not exist{nearest(Path(argument))}"


def predict_pictures(
    runs: Sequence[str], pictures: Sequence[str], *, nbest: int, plot: Path | None, load: Load
) -> None:
    """Prints what models say of pictures, and draws where they look.

    Raises:
        ValueError: something cannot be read or drawn; nothing is printed then.
    """
    from zoo.tasks.inputs import PICTURES
    from zoo.tasks.predictor import check_picture

    if plot is not None:  # before the long work
        check_picture(plot, *pictures)
    predictors = require_inputs(
        runs, PICTURES, lambda predictor: asks_for(predictor.inputs(), pictures[0]), load
    )
    if plot is not None:
        require_alike(predictors, plot)
    answers = {name: ask(predictor, pictures, nbest) for name, predictor in predictors.items()}
    if plot is not None:
        next(iter(predictors.values())).draw(predictors, pictures, answers, plot)
        print(f"drew {plot}", file=sys.stderr)
    for number, picture in enumerate(pictures):
        for name, found in answers.items():
            run = [name] if len(predictors) > 1 else []
            before = [*run, *([picture] if len(pictures) > 1 else [])]
            write(answered(predictors[name], before, found[number], nbest, [*run, picture]))
