"""The command `zoo`: use what has been trained, and see what there is to train."""

import inspect
import re
import shutil
import sys
import textwrap
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli import compare as cli_compare
from zoo.cli import explore as cli_explore
from zoo.cli import export as cli_export
from zoo.cli import find_lr as cli_find_lr
from zoo.cli import list_runs as cli_list_runs
from zoo.cli import predict as cli_predict
from zoo.cli import runs as cli_runs
from zoo.cli import sync as cli_sync
from zoo.cli import watch as cli_watch
from zoo.cli.clear_errors import clear_errors
from zoo.cli.command import Project, Verb
from zoo.core.checkout import find_checkout, require_checkout
from zoo.core.plugins import plugin_folders
from zoo.core.problems import unknown

_GROUPS = {
    **{"models": "model", "attention": "attention", "data": "data"},
    **{"tasks": "task", "experiments": "experiment"},
}
"""What `zoo list` lists, and the configuration group where it is found."""

main = typer.Typer(
    name="zoo",
    help="Attention models: use what has been trained, and see what there is to train.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for verb in (
    *(cli_predict.predict, cli_explore.explore, cli_compare.compare, cli_watch.watch, cli_runs.resume),
    *(cli_runs.rerun, cli_list_runs.runs, cli_export.export, cli_sync.sync, cli_runs.clean),
):
    main.command(cls=Verb)(verb)
main.command("test", cls=Verb)(cli_runs.retest)
main.command("find-lr", cls=Verb)(cli_find_lr.find_lr)


@main.command("list", cls=Verb)
def list_(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(_GROUPS)}.")],
    project: Project = None,
) -> None:
    """Show what can be combined."""
    with clear_errors():
        if kind not in _GROUPS:
            raise ValueError(f"cannot list {kind!r}{unknown(kind, _GROUPS)}")
        checkout = find_checkout(project)
        if kind == "attention":  # comes with the library; a checkout adds its aliases
            _print_attention(checkout)
            return
        folders = [require_checkout(project) / "conf", *plugin_folders()]
        paths = sorted(path for folder in folders for path in (folder / _GROUPS[kind]).glob("*.yaml"))
        _print_columns([(path.stem, _comment(path)) for path in paths])


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
        for folder in plugin_folders():
            rows += [(path.stem, _comment(path)) for path in (folder / group).glob("*.yaml")]
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
