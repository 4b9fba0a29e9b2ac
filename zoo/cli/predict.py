"""`zoo predict`: asks trained models about texts, pairs of texts, files of many thousand, or pictures."""

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.load import is_run, loader
from zoo.cli.predict_games import play_games
from zoo.cli.predict_pictures import pictures_behind, predict_pictures
from zoo.cli.predict_texts import predict_texts


def predict(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [SENTENCE | TEXT TEXT | PICTURE...]",
            help="One or more runs (a run's folder means its best checkpoint; or a .ckpt file), then what "
            "their models take: a sentence, two texts (`-` reads standard input, a line for each, with a tab "
            "between two texts) or pictures; nothing for one that plays.",
        ),
    ],
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            help="Sentences, one per line, or texts with a tab between two; `-` is standard input.",
        ),
    ] = None,
    nbest: Annotated[
        int,
        typer.Option(
            min=1,
            help="Answers to each input, the best first: translations, as lines of number, score and text;"
            " captions, as lines of score and text; or classes.",
        ),
    ] = 1,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the attention to this picture: one sentence or pair of texts, several runs side by"
            " side; beside it, all heads of a model that has several. Or the path of glimpses over pictures"
            " or a game, or what each word of captions looked at."
        ),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The length of the sequence that a model makes and answers, such as 120 vectors to copy.",
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="For example cpu or cuda:0; the GPU when there is one.")
    ] = None,
    precision: Annotated[
        str,
        typer.Option(help="32-true; bf16-mixed is faster where the machine multiplies bfloat16."),
    ] = "32-true",
) -> None:
    """Ask trained models: translate or classify a text, match two, look at pictures, or play."""
    from zoo.tasks.predictor import check_picture

    with clear_errors():
        if plot is not None:  # before the long work
            check_picture(plot)
        plays = file is None and all(map(is_run, arguments))
        load = loader(device=device, precision=precision)
        if plays and load(arguments[0]).without_input:
            play_games(arguments, plot=plot, load=load, length=length)
        elif length is not None:
            raise ValueError(
                "--length is for models that make their own sequences: give nothing but such runs"
            )
        elif file is None and (pictures := pictures_behind(arguments)):
            predict_pictures(arguments[: -len(pictures)], pictures, nbest=nbest, plot=plot, load=load)
        else:
            predict_texts(arguments, file=file, nbest=nbest, plot=plot, load=load)
