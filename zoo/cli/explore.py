"""`zoo explore`: a page to look into what trained models read of an input."""

import inspect
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Device, Precision
from zoo.cli.load import RUN_IS, Load, is_run, loader, require_inputs

if TYPE_CHECKING:
    from zoo.reports.explorer.forms import Form
    from zoo.reports.explorer.server import Server
    from zoo.tasks.exploration import Exploration
    from zoo.tasks.inputs import Inputs


def explore(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [INPUT]",
            help="One or more runs (a run's folder means its best checkpoint; or a .ckpt file), then one"
            " input that their models take: a text, two texts or a picture; nothing for models that play.",
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            metavar="FILE",
            help="Write the page here; it needs no network. Without it, a page is served on this machine, in"
            " which one types the input.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the page that is served; 0 takes any that is free.")
    ] = 0,
    seed: Annotated[
        int | None, typer.Option(help="Of the game or the sequence that models make themselves.")
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(min=1, help="Of a sequence that a model makes, such as 120 vectors to copy."),
    ] = None,
    device: Device = None,
    precision: Precision = "32-true",
) -> None:
    """Look into models: point at a word and see what it read, in every layer and head."""
    with clear_errors():
        from zoo.core.files import write_where_asked
        from zoo.reports.explorer.page import page
        from zoo.reports.explorer.server import Server
        from zoo.tasks.inputs import PICTURES

        if html is not None and not html.absolute().parent.is_dir():  # before the long work
            raise ValueError(f"cannot write {html}: the folder {html.parent} does not exist")
        load = loader(device=device, precision=precision)
        runs, given = split(arguments, load, is_asked=html is None)
        inputs = load(runs[0]).inputs()
        predictors = require_inputs(runs, inputs, lambda other: f"takes {_said(other.inputs())}", load)
        options = _options(predictors, {"seed": seed, "length": length})
        words = [Path(text).name if inputs == PICTURES else text for text in given]
        if inputs is None:
            options = {"seed": 1, **options}
            words = [f"{name} {value}" for name, value in options.items()]
        asked: Any = tuple(given) if len(given) > 1 else given[0] if given else options.pop("seed", None)

        def explored(asked: Any, **options: int) -> "dict[str, Exploration]":
            return {name: predictor.explore(asked, **options) for name, predictor in predictors.items()}

        explorations = {} if asked is None else explored(asked, **options)
        if html is not None:
            write_where_asked(html, page("\n".join(words), explorations).encode())
            print(f"wrote {html}", file=sys.stderr)
        else:
            form = _form(predictors)
            text = page("\n".join(words), explorations, form)
            _serve(Server(page=text, form=form, explore=explored, port=port))


def _form(predictors: Mapping[str, Any]) -> "Form":
    """What a page asks for, of models that take the same.

    Raises:
        ValueError: it is nothing that one can type.
    """
    from zoo.reports.explorer.forms import Form
    from zoo.tasks.inputs import PAIRS, PICTURES, SENTENCES

    run, first = next(iter(predictors.items()))
    inputs = first.inputs()
    if inputs is None:
        has_length = [
            "length" in inspect.signature(predictor.explore).parameters for predictor in predictors.values()
        ]
        return Form("game", takes_length=all(has_length))
    if inputs == SENTENCES:
        return Form("text", reads_blanks=first.reads_blanks)
    if inputs == PAIRS:
        return Form("pair", reads_blanks=first.reads_blanks)
    if inputs == PICTURES:
        return Form("picture")
    raise ValueError(f"the model of {run} takes {inputs.words}, which a page cannot ask for")


def _serve(server: "Server") -> None:
    """Answers until Ctrl-C."""
    print(f"open {server.address} in a browser of this machine; Ctrl-C ends it", flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("ended", file=sys.stderr)


def split(arguments: Sequence[str], load: Load, *, is_asked: bool) -> tuple[list[str], list[str]]:
    """Runs, and the input behind them: as many arguments as the first run's model takes.

    Args:
        arguments: as they were typed.
        load: see `loader`.
        is_asked: whether the page asks for the input, so that none need be given.

    Raises:
        ValueError: there is no run, or not what its model takes.
    """
    from zoo.core.text import is_blank
    from zoo.training.checkpoint import nearest

    runs = list(takewhile(is_run, arguments))
    given = list(arguments[len(runs) :])
    if not runs:
        near = nearest(Path(arguments[0]))
        raise ValueError(f"{arguments[0]!r} is not a run{near} ({RUN_IS} comes first, then the input)")
    first = load(runs[0])
    inputs = first.inputs()
    count = 0 if inputs is None else inputs.parts
    if len(given) != count and not (is_asked and not given):
        told = [textwrap.shorten(text, 60, placeholder=" ...") for text in given]
        raise ValueError(f"the model of {runs[0]} takes {_said(inputs)}, got {len(given)}: {told}")
    if any(map(is_blank, given)):
        raise ValueError("the input is empty")
    return runs, given if first.reads_blanks else [text.strip() for text in given]


def _said(inputs: "Inputs | None") -> str:
    from zoo.tasks.inputs import PAIRS, PICTURES, SENTENCES

    if inputs is None:
        return "no input"
    words = {SENTENCES: "one text", PAIRS: "two texts", PICTURES: "one picture"}
    return words.get(inputs, inputs.words)


def _options(predictors: Mapping[str, Any], given: Mapping[str, int | None]) -> dict[str, int]:
    """The options that were given.

    Raises:
        ValueError: a model does not have one of them.
    """
    options = {name: value for name, value in given.items() if value is not None}
    for run, predictor in predictors.items():
        known = {"seed"} if predictor.without_input else set()
        known |= inspect.signature(predictor.explore).parameters.keys()
        if unknown := [f"--{name}" for name in options if name not in known]:
            raise ValueError(f"the model of {run} takes no {', '.join(unknown)}")
    return options
