"""The command `zoo`: use what has been trained, and see what there is to train."""

import inspect
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zoo import cli_runs
from zoo.checkout import find_checkout, require_checkout
from zoo.clear_errors import clear_errors

if TYPE_CHECKING:
    from zoo.predictor import Predictor

_GROUPS = {"models": "model", "attention": "attention", "data": "data", "experiments": "experiment"}
"""What `zoo list` lists, and the configuration group where it is found."""

main = typer.Typer(
    name="zoo",
    help="Attention models: use what has been trained, and see what there is to train.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for verb in (cli_runs.resume, cli_runs.rerun, cli_runs.clean):
    main.command()(verb)


@main.command()
def predict(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [SENTENCE]",
            help="One or more runs (a run's folder means its best checkpoint; or a .ckpt file), then a "
            "sentence; `-` reads sentences from standard input, one per line.",
        ),
    ],
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Sentences, one per line; `-` is standard input.")
    ] = None,
    nbest: Annotated[
        int, typer.Option(min=1, help="Translations of each sentence, as lines of number, score and text.")
    ] = 1,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the attention to this picture: one sentence, several runs side by side."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="For example cpu or cuda:0; the GPU when there is one.")
    ] = None,
) -> None:
    """Translate sentences with trained models."""
    with clear_errors():
        runs, sentence = _split(arguments, file)
        texts = _read_lines(file or "-") if sentence is None else [_text(sentence, "the sentence")]

        from zoo.predictor import check_picture, load, plot_side_by_side, run_name

        if plot is not None:  # before the long work
            check_picture(plot)
            if len(texts) != 1 or not texts[0]:
                raise ValueError(f"--plot draws one sentence, got {sum(map(bool, texts))}")
        predictors: dict[str, Predictor] = {}
        for run in runs:
            predictor = load(run, device=device)
            print(f"using {predictor.checkpoint}", file=sys.stderr)
            name = run_name(predictor.checkpoint.path)
            predictors[name if name not in predictors else str(run)] = predictor
        _print_translations(predictors, texts, nbest)
        if plot is not None:
            plot_side_by_side(predictors, texts[0], plot)
            print(f"drew {plot}", file=sys.stderr)


@main.command("list")
def list_(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(_GROUPS)}.")],
    project: Annotated[
        Path | None,
        typer.Option(help="The project's checkout; by default found upward from the current folder."),
    ] = None,
) -> None:
    """Show what can be combined."""
    with clear_errors():
        if kind not in _GROUPS:
            matches = get_close_matches(kind, _GROUPS, n=1)
            meant = f" (did you mean {matches[0]}?)" if matches else ""
            raise ValueError(f"cannot list {kind!r}{meant}; there are {', '.join(_GROUPS)}")
        checkout = find_checkout(project)
        if kind == "attention":  # comes with the library; a checkout adds its aliases
            _print_attention(checkout)
            return
        paths = sorted((require_checkout(project) / "conf" / _GROUPS[kind]).glob("*.yaml"))
        _print_columns([(path.stem, _comment(path)) for path in paths])


# predict


def _split(arguments: list[str], file: str | None) -> tuple[list[str], str | None]:
    """Runs and sentence: with a file all are runs, else the last is the sentence; None = read lines."""
    from zoo.runs.checkpoint import nearest

    runs, sentence = (arguments, None) if file is not None else (arguments[:-1], arguments[-1])
    if sentence is not None and os.path.exists(sentence):
        raise ValueError(f"no sentence after {sentence}: give one, or --file FILE, or - for standard input")
    if not runs:
        raise ValueError(
            f"{sentence!r} is not a run{nearest(Path(str(sentence)))} (a run's folder or a .ckpt file "
            "comes first, then the sentence)"
        )
    for run in runs:
        if not os.path.exists(run):
            raise ValueError(f"{run} does not exist{nearest(Path(run))} (only the last may be a sentence)")
    return runs, None if sentence == "-" else sentence


def _read_lines(file: str) -> list[str]:
    name = "standard input" if file == "-" else file
    content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [_text(line, f"{name}, line {number}") for number, line in enumerate(lines, start=1)]


def _text(given: str | bytes, where: str) -> str:
    """The text without blanks around it; nothing where nothing in it can be seen, as in zero-width spaces."""
    try:
        # Bytes on the command line that are no text arrive as surrogates.
        content = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else given
        text = content.decode("utf-8").strip()
    except UnicodeError as error:
        reason = f" ({error.reason} at byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise ValueError(f"{where}: not UTF-8{reason}") from error
    seen = any(unicodedata.category(sign) not in ("Cc", "Cf") and not sign.isspace() for sign in text)
    return text if seen else ""


def _print_translations(predictors: "dict[str, Predictor]", texts: list[str], nbest: int) -> None:
    """One line per sentence; columns before it where there are several runs or several translations."""
    several = len(predictors) > 1
    numbers = [number for number, text in enumerate(texts) if text]
    found = {
        name: dict(zip(numbers, predictor.predict([texts[n] for n in numbers], nbest), strict=True))
        for name, predictor in predictors.items()
    }
    for number in range(len(texts)):
        for name in predictors:
            for translation in found[name].get(number, [None]):  # an empty line keeps its place
                columns = [name] if several else []
                if nbest > 1:
                    columns += [str(number + 1), "" if translation is None else f"{translation.score:.4f}"]
                print(*columns, "" if translation is None else translation.text, sep="\t")
                if translation is not None and not translation.finished:
                    run = f"{name}, " if several else ""
                    print(f"{run}line {number + 1}: cut off at the length limit", file=sys.stderr)


# list


def _print_attention(checkout: Path | None) -> None:
    """Every score and selection: the words that mean it, and what its class says of itself."""
    import zoo.attention as attention

    for group, base in (("attention", attention.Score), ("selection", attention.Selection)):
        aliases = _words(checkout / "conf" / group) if checkout else {}
        rows = []
        for name in attention.__all__:
            part = getattr(attention, name)
            if inspect.isclass(part) and issubclass(part, base) and not inspect.isabstract(part):
                word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
                words = dict.fromkeys([word, *aliases.get(name, [])])
                rows.append((", ".join(words), (inspect.getdoc(part) or "").partition("\n")[0]))
        print(f"{group}=")
        _print_columns(sorted(rows), indent=2)


def _words(folder: Path) -> dict[str, list[str]]:
    """The configuration files in a folder, by the name of the class that each builds."""
    words: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.yaml")):
        target = re.search(r"^_target_: *[\w.]*?(\w+) *$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if target:
            words.setdefault(target[1], []).append(path.stem)
    return words


def _comment(path: Path) -> str:
    """The first sentence of the comment that a configuration file begins with, on one line."""
    comment: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):  # that one is for Hydra
            comment.append(line.lstrip("# ").rstrip())
    paragraph = " ".join(takewhile(bool, comment))
    # "et al. 2015" ends no sentence, nor does "e.g. this"
    return re.split(r"(?<=[.!?]) +(?=[A-Z])", paragraph, maxsplit=1)[0]


def _print_columns(rows: list[tuple[str, str]], indent: int = 0) -> None:
    """Names and what is said of them: wrapped on a terminal, one line each for a pipe."""
    names = max((len(name) for name, _ in rows), default=0)
    columns = _terminal_columns()
    hang = " " * (indent + names + 2)
    for name, text in rows:
        line = f"{'':{indent}}{name:{names}}  {text}".rstrip()
        wrapped = [line]
        if columns is not None:
            width = max(columns, len(hang) + 20)  # in a very narrow one the terminal itself breaks lines
            wrapped = textwrap.wrap(line, width, subsequent_indent=hang, break_on_hyphens=False)
        print(*wrapped, sep="\n")


def _terminal_columns() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
