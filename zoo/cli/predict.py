"""`zoo predict`: a sentence, files of many thousand lines, or pictures."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from zoo.cli.clear_errors import clear_errors
from zoo.cli.load import load_runs, require_alike
from zoo.cli.predict_games import only_players, play_games
from zoo.cli.predict_pictures import pictures_behind, predict_pictures

if TYPE_CHECKING:
    from zoo.tasks.text_predictor import TextPredictor

WINDOW = 1024
"""Lines that are sorted by length and translated together; their output is written before the next ones.

More would pad a little less, and lose more when the command is stopped.
"""
_NO_BAR = 64  # sentences that are done before a bar could be read


def predict(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [SENTENCE | PICTURE...]",
            help="One or more runs (a run's folder means its best checkpoint; or a .ckpt file), then a "
            "sentence (`-` reads sentences from standard input, one per line), or pictures for a model that "
            "recognises them or writes captions; nothing for one that plays.",
        ),
    ],
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Sentences, one per line; `-` is standard input.")
    ] = None,
    nbest: Annotated[
        int,
        typer.Option(
            min=1,
            help="Translations of each sentence, as lines of number, score and text; or captions of each"
            " picture, as lines of score and text; or classes.",
        ),
    ] = 1,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the attention to this picture: one sentence, several runs side by side; beside it, all"
            " heads of a model that has several. Or the path of glimpses over pictures or a game, or what"
            " each word of captions looked at."
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
    """Translate sentences, recognise pictures, write their captions or play, with trained models."""
    with clear_errors():
        if file is None and only_players(arguments):
            play_games(arguments, plot=plot, device=device, precision=precision)
            return
        if file is None and (pictures := pictures_behind(arguments)):
            runs = arguments[: -len(pictures)]
            predict_pictures(runs, pictures, nbest=nbest, plot=plot, device=device, precision=precision)
            return
        runs, sentence = _split(arguments, file)
        texts = _read_lines(file or "-") if sentence is None else [_text(sentence, "the sentence")]

        from zoo.tasks.predictor import check_picture
        from zoo.tasks.text_predictor import TextPredictor

        if plot is not None:  # before the long work
            check_picture(plot)
            if texts == [""]:
                raise ValueError("--plot draws one sentence, and the one given is empty")
            if len(texts) != 1 or not texts[0]:
                raise ValueError(f"--plot draws one sentence, got {sum(map(bool, texts))}")
        otherwise = _not_for_pictures(sentence, file)
        predictors: dict[str, TextPredictor] = load_runs(
            runs,
            TextPredictor,  # type: ignore[type-abstract]
            lambda _: otherwise,
            device=device,
            precision=precision,
        )
        if plot is not None:
            require_alike(predictors, plot)
        _print_answers(predictors, texts, nbest)
        if plot is not None:
            for picture in next(iter(predictors.values())).draw(predictors, texts[0], plot):
                print(f"drew {picture}", file=sys.stderr)


def _not_for_pictures(sentence: str | None, file: str | None) -> str:
    """What to say of a model that looks at pictures and was given this."""
    from zoo.training.checkpoint import nearest

    if sentence is None:
        given = "--file" if file else "standard input"
        return f"looks at pictures: give their files behind the run, instead of {given}"
    return f"looks at pictures, and there is no file {sentence!r}{nearest(Path(sentence))}"


def _split(arguments: list[str], file: str | None) -> tuple[list[str], str | None]:
    """Runs and sentence: with a file all are runs, else the last is the sentence; None = read lines."""
    from zoo.training.checkpoint import nearest

    runs, sentence = (arguments, None) if file is not None else (arguments[:-1], arguments[-1])
    if sentence is not None and os.path.exists(sentence):
        raise ValueError(
            f"no sentence or picture after {sentence}: give one, or --file FILE, or - for standard input; "
            "of a folder of pictures, give its files"
        )
    if not runs:
        raise ValueError(
            f"{sentence!r} is not a run{nearest(Path(str(sentence)))} (a run's folder or a .ckpt file "
            "comes first, then the sentence)"
        )
    for number, run in enumerate(runs):
        if os.path.exists(run):
            continue
        near = nearest(Path(run))
        hint = "only the last may be a sentence" if file is None else "with --file there is no sentence"
        if file is None and number and not near:  # behind a run, and like no other
            several = f"{len(arguments) - number} are given"
            hint = (
                f"one sentence may follow the runs, and {several}: write them line by line, for --file FILE"
            )
        raise ValueError(f"{run} does not exist{near} ({hint})")
    return runs, None if sentence == "-" else sentence


def _read_lines(file: str) -> list[str]:
    from zoo.training.checkpoint import nearest

    name = "standard input" if file == "-" else file
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}{nearest(Path(file))}") from error
    if content.startswith(b"\x1f\x8b"):
        raise ValueError(f"{name} is packed: gzip -dc {name} | zoo predict RUN -")
    # A carriage return alone ends the lines of some old programs' files; else it is a blank at a line's end.
    ending = b"\n" if b"\n" in content else b"\r"
    lines = content.removeprefix(b"\xef\xbb\xbf").split(ending)
    if lines[-1] == b"":
        lines.pop()
    return [_text(line, f"{name}, line {number}") for number, line in enumerate(lines, start=1)]


def _text(given: str | bytes, where: str) -> str:
    """The text without blanks around it; nothing where nothing in it can be seen, as in zero-width spaces."""
    from zoo.core.text import is_blank

    try:
        # Bytes on the command line that are no text arrive as surrogates.
        content = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else given
        text = content.decode("utf-8").strip()
    except UnicodeError as error:
        reason = f" ({error.reason} at byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise ValueError(f"{where}: not UTF-8{reason}") from error
    return "" if is_blank(text) else text


def _print_answers(predictors: "Mapping[str, TextPredictor]", texts: Sequence[str], nbest: int) -> None:
    """Answers window by window; whatever stops it, the lines of finished windows are written, in order."""
    written = 0
    try:
        doing = next(iter(predictors.values())).doing
        with _bar(doing, len(predictors) * sum(map(bool, texts))) as bar:
            (task,) = bar.task_ids
            for start in range(0, len(texts), WINDOW):
                window = texts[start : start + WINDOW]
                sentences = [text for text in window if text]
                found = {
                    name: iter(
                        predictor.predict(
                            sentences, nbest, weights=False, progress=lambda count: bar.advance(task, count)
                        )
                    )
                    for name, predictor in predictors.items()
                }
                lines: list[str] = []
                for number, text in enumerate(window, start=start + 1):
                    for name, answers in found.items():
                        run = [name] if len(predictors) > 1 else []
                        # an empty line keeps its place
                        answer = next(answers) if text else None
                        lines += _lines(predictors[name], run, number, answer, nbest)
                sys.stdout.write("".join(f"{line}\n" for line in lines))
                sys.stdout.flush()
                written += len(window)
    except BaseException as error:
        if len(texts) > 1 and not isinstance(error, BrokenPipeError):
            print(f"stopped: {written:,} of {len(texts):,} lines are done and written", file=sys.stderr)
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(130) from error
        raise


def _lines(
    predictor: "TextPredictor", run: list[str], number: int, answers: list[Any] | None, nbest: int
) -> list[str]:
    """A line for each answer; columns before it where there are several runs or several answers."""
    before = [*run, *([str(number)] if nbest > 1 else [])]
    if answers is None:
        return ["\t".join([*before, *([""] if nbest > 1 else []), ""])]
    for remark in predictor.remarks(answers):
        print(f"{', '.join([*run, f'line {number}'])}: {remark}", file=sys.stderr)
    return ["\t".join([*before, *predictor.columns(answer, nbest)]) for answer in answers]


def _bar(doing: str, sentences: int) -> Progress:
    """How far it is, how fast, and the time left: on a terminal, where there is enough to do."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn(doing),
        BarColumn(bar_width=20),  # so that all fits into 80 columns
        MofNCompleteColumn(),
        _Speed(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # else what is written would end up on the terminal
        disable=not console.is_terminal or sentences <= _NO_BAR,
    )
    bar.add_task("", total=sentences)
    return bar


class _Speed(ProgressColumn):
    """Sentences per second so far."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed / task.elapsed:,.1f} sentences/s" if task.elapsed else "")
