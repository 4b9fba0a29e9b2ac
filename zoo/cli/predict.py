"""`zoo predict`: asks trained models about texts, pairs of texts, files of many thousand, or pictures."""

from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Device, Precision
from zoo.cli.load import is_run, loader, require_options
from zoo.cli.predict_games import play_games
from zoo.cli.predict_pictures import pictures_behind, predict_pictures
from zoo.cli.predict_texts import predict_texts
from zoo.cli.processes import sharing
from zoo.cli.score_texts import score_texts
from zoo.inference.trained_models import RECIPES


def predict(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [SENTENCE | TEXT TEXT | PICTURE...]",
            help="One or more runs (a run's folder means its best checkpoint; or a .ckpt file, an exported "
            f"folder, or one of {', '.join(RECIPES)}, which come with the package), then what "
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
            " captions, as lines of score and text; classes; or continuations of a text.",
        ),
    ] = 1,
    length: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Tokens of a continuation, fewer where the model ends the text; or the size of a sequence"
            " that a model makes and answers, such as 120 vectors to copy.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Of the draws of a continuation: below 1 more probable tokens are drawn, and 0 takes the"
            " most probable one each time. This and the next three are those of decoding= unless given.",
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="Draw from this many most probable tokens.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="Draw from the most probable tokens that together have this probability."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the draws, or of the game that is played.")] = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="Instead, say how probable each line of this file is: its log-probability in nats, the"
            " tokens that have it (all but the first) and the perplexity; `-` is standard input."
        ),
    ] = None,
    processes: Annotated[
        int,
        typer.Option(
            min=1,
            help="That share the lines of a file on a CPU, each with a copy of the model and its cores.",
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
    device: Device = None,
    precision: Precision = "32-true",
) -> None:
    """Ask trained models: translate, classify or continue a text, match two, look at pictures, or play."""
    from zoo.tasks.predictor import check_picture

    with clear_errors():
        if plot is not None:  # before the long work
            check_picture(plot)
        load = loader(device=device, precision=precision)
        given = {
            "length": length,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
        }
        options = {name: value for name, value in given.items() if value is not None}
        if options and score is None:
            for run in takewhile(is_run, arguments):
                require_options(run, options, load)
        if processes > 1 and file is None and arguments[-1] != "-":
            raise ValueError(
                "--processes share the lines of a file: give --file FILE, or - for standard input"
            )
        share = sharing(processes, device=device, precision=precision) if processes > 1 else None
        if score is not None:
            if file is not None or plot is not None or nbest > 1 or options or share:
                raise ValueError("--score takes nothing but runs and a file: leave the other options out")
            score_texts(arguments, file=score, load=load)
        elif file is None and all(map(is_run, arguments)) and load(arguments[0]).without_input:
            play_games(arguments, plot=plot, load=load, options=options)
        elif file is None and (pictures := pictures_behind(arguments)):
            predict_pictures(arguments[: -len(pictures)], pictures, nbest=nbest, plot=plot, load=load)
        else:
            predict_texts(
                arguments, file=file, nbest=nbest, plot=plot, load=load, options=options, share=share
            )
