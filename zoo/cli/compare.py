"""`zoo compare`: which configuration is better, and whether the difference is real."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.clear_errors import clear_errors

_FILE = {"dir_okay": False, "metavar": "FILE"}


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Any mix of runs, sweeps, folders of them, kept results, predictions.jsonl files.",
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(help="May be repeated, the first is compared in full; default: what picks checkpoints."),
    ] = None,
    split: Annotated[str, typer.Option(help="A test split; or val, which needs no test.")] = "test",
    baseline: Annotated[
        str | None,
        typer.Option(help="A row's name, or one of its runs; default: the first recipe as it stands."),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Test sets to draw.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 12345,
    language: Annotated[
        str | None,
        typer.Option(help="Of the text, for scores that depend on it; default: as the runs were scored."),
    ] = None,
    markdown: Annotated[Path | None, typer.Option(**_FILE, help="Write the table as Markdown.")] = None,
    png: Annotated[
        Path | None,
        typer.Option(file_okay=False, metavar="FOLDER", help="Draw the table."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(**_FILE, help="Write a page: sort, filter, curves, predictions, pictures; no network."),
    ] = None,
    csv: Annotated[Path | None, typer.Option(**_FILE, help="Write every number.")] = None,
) -> None:
    """Compare runs: means over seeds, intervals, and whether differences could be chance.

    Runs of one configuration are one row. Against a baseline: paired bootstrap resampling of the test items
    (Koehn 2004), and a t-test over seeds. Several data sets have a table each.
    """
    with clear_errors():
        from zoo.core.files import require_place, write_where_asked
        from zoo.reports.comparison import table
        from zoo.reports.comparison.comparison import Question
        from zoo.reports.comparison.comparison import compare as compare_runs
        from zoo.reports.runs import by_data_set, find_runs

        drawing = png / "drawing.png" if png else None
        for file in filter(None, (markdown, html, csv, drawing)):
            require_place(file)
        question = Question(
            metrics=tuple(metric or ()),
            split=split,
            baseline=baseline,
            samples=samples,
            seed=seed,
            language=language,
        )
        sets = by_data_set(find_runs(runs))
        if asked := [name for name, file in (("--png", png), ("--html", html), ("--csv", csv)) if file]:
            _require_one(sets, asked)
        comparisons = {}
        for name, own in sets.items():
            try:
                comparisons[name] = compare_runs(own, question)
            except ValueError as error:
                if len(sets) == 1:
                    raise
                raise ValueError(f"data set {name}: {error}") from error
        for name, comparison in comparisons.items():
            if len(sets) > 1:
                typer.echo(f"data set {name}:")
            table.print_table(comparison)
        if markdown:
            parts = [
                (f"## {name}\n\n" if len(sets) > 1 else "", table.markdown(one))
                for name, one in comparisons.items()
            ]
            _write(markdown, "\n".join(title + text for title, text in parts))
        if png:
            from zoo.reports.comparison.pictures import pictures

            for name, content in pictures(comparison).items():
                write_where_asked(png / name, content)
            if not comparison.one_machine:
                typer.echo("no picture of quality against speed: the machines differ", err=True)
        if html:
            from zoo.reports.comparison.html import page

            _write(html, page(comparison))
        if csv:
            _write(csv, table.comma_separated(comparison))


def _require_one(sets: Collection[str], options: Sequence[str]) -> None:
    """Refuses pages, pictures and numbers of several data sets."""
    if len(sets) > 1:
        raise ValueError(f"{' and '.join(options)} take runs of one data set; these are of {', '.join(sets)}")


def _write(path: Path, text: str) -> None:
    from zoo.core.files import write_where_asked

    write_where_asked(path, text.encode())
    typer.echo(f"wrote {path}", err=True)
