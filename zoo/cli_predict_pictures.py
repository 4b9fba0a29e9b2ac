"""`zoo predict` with pictures."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.cli_load import is_run, load_runs

if TYPE_CHECKING:
    from zoo.recogniser import Recogniser


def pictures_behind(arguments: Sequence[str]) -> list[str]:
    """The pictures behind the runs: whatever follows them, as soon as a file is among it.

    Args:
        arguments: as typed.

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
        raise ValueError(f"no run before {pictures[0]}: a run's folder or a .ckpt file comes first")
    return pictures


def _mistaken(argument: str) -> str:
    from zoo.runs.checkpoint import nearest

    if os.path.exists(argument):
        return f"{argument} is no picture (runs come first, then pictures, file by file)"
    return f"{argument} does not exist{nearest(Path(argument))}"


def predict_pictures(
    runs: Sequence[str],
    pictures: Sequence[str],
    *,
    nbest: int,
    plot: Path | None,
    device: str | None,
    precision: str,
) -> None:
    """Prints what pictures show, and draws where the models look.

    Args:
        runs: folders or files.
        pictures: files.
        nbest: classes of each picture.
        plot: the drawing.
        device: see `zoo.load`.
        precision: see `zoo.load`.

    Raises:
        ValueError: something cannot be read, drawn or recognised; nothing is printed then.
    """
    from zoo.predictor import check_picture
    from zoo.recogniser import Recogniser, plot_glimpses

    if plot is not None:  # before the long work
        check_picture(plot)
    otherwise = f"translates sentences: give one, or --file {pictures[0]} for the sentences in that file"
    recognisers = load_runs(runs, Recogniser, otherwise, device=device, precision=precision)
    if plot is not None:
        plot_glimpses(recognisers, pictures, plot)
        print(f"drew {plot}", file=sys.stderr)
    _print_classes(recognisers, pictures, nbest)


def _print_classes(recognisers: "Mapping[str, Recogniser]", pictures: Sequence[str], nbest: int) -> None:
    """A line for each class, name and probability; before it run and picture, where there are several."""
    found = {name: recogniser.predict(pictures, nbest) for name, recogniser in recognisers.items()}
    for number, picture in enumerate(pictures):
        for name, recognitions in found.items():
            run = [name] if len(recognisers) > 1 else []
            where = [*run, *([picture] if len(pictures) > 1 else [])]
            for recognition in recognitions[number]:
                print("\t".join([*where, recognition.label, f"{recognition.probability:.4f}"]))
