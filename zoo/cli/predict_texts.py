"""`zoo predict` with texts: a sentence, two texts, or files of many thousand lines of either."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
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

from zoo.cli.ask import answered, ask, write
from zoo.cli.load import RUN_IS, Load, asks_for, is_run, require_alike, require_inputs
from zoo.cli.processes import Share
from zoo.core.problems import similar
from zoo.inference.trained_models import PREFIX, RECIPES, is_trained

if TYPE_CHECKING:
    from zoo.tasks.predictor import Predictor

WINDOW = 1024
"""Lines that are sorted by length and answered together; their output is written before the next ones.

More would pad a little less, and lose more when the command is stopped.
"""
_NO_BAR = 64  # texts that are done before a bar could be read


def predict_texts(
    arguments: Sequence[str],
    *,
    file: str | None,
    nbest: int,
    plot: Path | None,
    load: Load,
    options: Mapping[str, Any],
    share: AbstractContextManager[Share] | None = None,
) -> None:
    """Prints what models answer to texts, or to pairs of texts, and draws what they attend to.

    One answer of one model that writes piece by piece, which has a `stream`, is shown as it is written.

    Args:
        arguments: runs; without a `file` a sentence behind them, two texts, or `-` for standard input.
        file: of sentences, or of pairs with a tab between, one in each line; `-` is standard input.
        nbest: how many answers to each.
        plot: the drawing; None for none.
        load: see `loader`.
        options: further arguments of the models' `predict`, see `require_options`.
        share: processes that answer lines, see `sharing`; None: this one does.

    Raises:
        ValueError: something cannot be read or drawn.
    """
    from zoo.core.text import is_blank
    from zoo.tasks.inputs import PAIRS, SENTENCES

    runs, given = _split(arguments, file, load)
    lines = read_lines(file or "-") if given is None else {"the sentence": _text(given[0], "the sentence")}
    if plot is not None:  # before the long work
        texts_there = [not is_blank(text) for text in lines.values()]
        if texts_there == [False]:
            raise ValueError("--plot draws one sentence, and the one given is empty")
        if texts_there != [True]:
            raise ValueError(f"--plot draws one sentence, got {sum(texts_there)}")
    if not getattr(load(runs[0]), "reads_blanks", False):
        lines = {where: _stripped(text) for where, text in lines.items()}
    paired = load(runs[0]).inputs() == PAIRS
    predictors = require_inputs(
        runs, PAIRS if paired else SENTENCES, lambda predictor: _otherwise(predictor, given, file), load
    )
    texts: Sequence[Any] = list(lines.values())
    if paired and given is None:
        texts = [_pair(line, where) for where, line in lines.items()]
    elif paired and given is not None:
        if len(given) != 2:
            raise ValueError(f"the model of {runs[0]} {asks_for(PAIRS)}")
        texts = [tuple(_stripped(_text(text, f"text {number}")) for number, text in enumerate(given, 1))]
        if not all(texts[0]):
            raise ValueError("two texts are needed, and one is empty")
    if plot is not None:
        require_alike(predictors, plot)
    first = next(iter(predictors.values()))
    if given is not None and not texts[0] and getattr(first, "reads_blanks", False):
        raise ValueError(f"the text is empty, and the model of {runs[0]} needs a token to go on from")
    if plot is not None:  # first, because it is refused where there is nothing to draw
        for picture in first.draw(predictors, texts[0], plot):
            print(f"drew {picture}", file=sys.stderr)
    if given is not None and texts[0] and nbest == len(predictors) == 1 and hasattr(first, "stream"):
        _stream(first, texts[0], options)
    else:
        unit = "pairs" if paired else "sentences"
        with share or nullcontext(ask) as answers_of:
            _print_answers(predictors, texts, nbest, options, answers_of, unit=unit)


def _otherwise(predictor: "Predictor", given: Sequence[str] | None, file: str | None) -> str:
    """What to say of a model that takes something else than what it was given."""
    from zoo.tasks.inputs import PICTURES
    from zoo.training.checkpoint import nearest

    if predictor.inputs() != PICTURES:
        return asks_for(predictor.inputs())
    if given is None:
        return (
            "looks at pictures: give their files behind the run, instead of"
            f" {'--file' if file else 'standard input'}"
        )
    return f"looks at pictures, and there is no file {given[-1]!r}{nearest(Path(given[-1]))}"


def _split(
    arguments: Sequence[str], file: str | None, load: Load
) -> tuple[Sequence[str], Sequence[str] | None]:
    """Runs and the texts behind them, two where the first run's model takes two; None where lines are read.

    Args:
        arguments: as they were typed.
        file: where one was named, all arguments are runs.
        load: see `loader`; without need nothing is loaded.
    """
    from zoo.tasks.inputs import PAIRS
    from zoo.training.checkpoint import nearest

    reads_lines = file is not None or arguments[-1] == "-"
    behind = list(dropwhile(is_run, arguments))
    several = len(arguments) > len(behind) > 1 and not reads_lines
    parts = 2 if several and load(arguments[0]).inputs() == PAIRS else 1
    count = 0 if file is not None else parts
    runs, given = arguments[: len(arguments) - count], arguments[len(arguments) - count :]
    if given and (os.path.exists(given[-1]) or (is_trained(given[-1]) and not runs)):
        raise ValueError(
            f"no sentence or picture after {given[-1]}: give one, or --file FILE, or - for standard input; "
            "of a folder of pictures, give its files"
        )
    if not runs:
        raise ValueError(
            f"{given[-1]!r} is not a run{nearest(Path(given[-1]))} ({RUN_IS} comes first, then the sentence)"
        )
    for number, run in enumerate(runs):
        if os.path.exists(run) or is_trained(run):
            continue
        near = nearest(Path(run)) or similar(run.removeprefix(PREFIX), [] if number else RECIPES)
        hint = "with --file there is no sentence"
        if file is None:
            hint = "only the last may be a sentence" if parts == 1 else "only the last two may be texts"
        if file is None and number and not near:  # behind a run, and like no other
            follow = "one sentence" if parts == 1 else "two texts"
            lines = "line by line" if parts == 1 else "line by line, with a tab between two"
            more = f"{len(arguments) - number} are given"
            hint = f"{follow} may follow the runs, and {more}: write them {lines}, for --file FILE"
        raise ValueError(f"{run} does not exist{near} ({hint})")
    return runs, None if reads_lines else given


def read_lines(file: str) -> dict[str, str]:
    """The lines of a file as they are, blank ones empty, by what they are called in messages.

    Args:
        file: its path; `-` is standard input.
    """
    from zoo.core.text import is_blank
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
    named = ((f"{name}, line {number}", line) for number, line in enumerate(lines, start=1))
    texts = {where: _text(line, where).removesuffix("\r") for where, line in named}
    return {where: "" if is_blank(text) else text for where, text in texts.items()}


def _pair(line: str, where: str) -> tuple[str, ...] | str:
    """The two texts of a line; nothing of a blank one."""
    texts = tuple(map(_stripped, line.split("\t")))
    if line and (len(texts) != 2 or not all(texts)):
        raise ValueError(f"{where}: two texts with a tab between them are needed, got {line[:60]!r}")
    return texts if line else ""


def _text(given: str | bytes, where: str) -> str:
    """The text as it is, if it is UTF-8."""
    try:
        # Bytes on the command line that are no text arrive as surrogates.
        content = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else given
        return content.decode("utf-8")
    except UnicodeError as error:
        reason = f" ({error.reason} at byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise ValueError(f"{where}: not UTF-8{reason}") from error


def _stripped(text: str) -> str:
    """The text without blanks around it; nothing where nothing in it can be seen, as in zero-width spaces."""
    from zoo.core.text import is_blank

    return "" if is_blank(text) else text.strip()


def _stream(predictor: Any, text: str, options: Mapping[str, Any]) -> None:
    """Writes a text and, piece by piece, what follows."""
    pieces = predictor.stream(text, **options)
    first = next(pieces, "")  # before anything is written: what is wrong shows here
    for remark in predictor.remarks_on(text):
        print(remark, file=sys.stderr)
    try:
        for piece in chain([text, first], pieces):
            sys.stdout.write(piece)
            sys.stdout.flush()
        sys.stdout.write("\n")
    except KeyboardInterrupt as error:
        sys.stdout.write("\n")
        raise typer.Exit(130) from error


def _print_answers(
    predictors: "Mapping[str, Any]",
    texts: Sequence[Any],
    nbest: int,
    options: Mapping[str, Any],
    answers_of: Share,
    *,
    unit: str,
) -> None:
    """Answers window by window; whatever stops it, the lines of finished windows are written, in order."""
    written, several = 0, len(predictors) > 1
    try:
        doing = next(iter(predictors.values())).doing
        with _bar(doing, unit, len(predictors) * sum(map(bool, texts))) as bar:
            (task,) = bar.task_ids
            for start in range(0, len(texts), WINDOW):
                window = texts[start : start + WINDOW]
                asked = [text for text in window if text]
                found = {
                    name: iter(
                        answers_of(predictor, asked, nbest, lambda count: bar.advance(task, count), options)
                    )
                    for name, predictor in predictors.items()
                }
                lines: list[str | RenderableType] = []
                for number, text in enumerate(window, start=start + 1):
                    for name, answers in found.items():
                        run = [name] if several else []
                        before = [*run, *([str(number)] if nbest > 1 else [])]
                        if text:
                            where = [*run, f"line {number}"]
                            said = answered(predictors[name], before, next(answers), nbest, where)
                            # Of several texts a line stays one.
                            lines += map(_in_one_line, said) if len(texts) > 1 else said
                        else:  # an empty line keeps its place
                            lines.append("\t".join([*before, *([""] if nbest > 1 else []), ""]))
                write(lines)
                written += len(window)
    except BaseException as error:
        if len(texts) > 1 and not isinstance(error, BrokenPipeError):
            print(f"stopped: {written:,} of {len(texts):,} lines are done and written", file=sys.stderr)
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(130) from error
        raise


def _in_one_line(line: str | RenderableType) -> str | RenderableType:
    return line.replace("\n", "\\n") if isinstance(line, str) else line


def _bar(doing: str, unit: str, count: int) -> Progress:
    """How far it is, how fast, and the time left: on a terminal, where there is enough to do."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn(doing),
        BarColumn(bar_width=20),  # so that all fits into 80 columns
        MofNCompleteColumn(),
        _Speed(unit),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # else what is written would end up on the terminal
        disable=not console.is_terminal or count <= _NO_BAR,
    )
    bar.add_task("", total=count)
    return bar


class _Speed(ProgressColumn):
    """Inputs per second so far."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed / task.elapsed:,.1f} {self._unit}/s" if task.elapsed else "")
