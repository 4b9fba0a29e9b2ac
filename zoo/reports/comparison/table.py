"""A comparison as a table: for a terminal or a pipe, as Markdown, as CSV."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import NamedTuple

from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zoo.reports.comparison.comparison import COSTS, Comparison, Row
from zoo.reports.comparison.names import printable
from zoo.reports.comparison.runs import Run
from zoo.reports.seeds import SeedDifference, Summary
from zoo.reports.significance import Difference

_MOST_SETTINGS = 8
"""Columns of settings in a table that is read, the first there are; CSV and the page hold any number."""
_BEST = "*"
_FRAME = 3
"""What a frame adds to the width of a column."""
_GIB = 2**30
_MARKUP = re.compile(r"[\\`*<&~|]|\](?=\()")
"""What means something in Markdown, but for what is in numbers and the names of metrics."""


class Column(NamedTuple):
    """One column of text.

    Attributes:
        head: its name.
        cells: one for each row, empty where there is nothing to say.
        values: what numbers are sorted by; None of text, and of empty cells.
        best: which cells are the best of the column.
        is_number: whether it is set to the right.
    """

    head: str
    cells: list[str]
    values: list[float | None]
    best: list[bool]
    is_number: bool


def columns(comparison: Comparison, *, complete: bool = False) -> list[Column]:
    """The table's columns; one that would be empty in every row is none.

    Args:
        comparison: what is shown.
        complete: with every setting that differs and every metric, however many there are.
    """
    rows, metric = comparison.rows, comparison.metric
    digits = _digits([row.scores[metric] for row in rows])
    settings = comparison.settings if complete else comparison.settings[:_MOST_SETTINGS]

    def text(head: str, cell: Callable[[Row], str]) -> Column:
        cells = [printable(" ".join(cell(row).splitlines())) for row in rows]
        return Column(head, cells, [None] * len(rows), [False] * len(rows), False)

    def number(
        head: str, value: Callable[[Row], float | None], cell: Callable[[Row], str], best: Sequence[Row] = ()
    ) -> Column:
        marks = [any(row is one for one in best) for row in rows]
        return Column(head, [cell(row) for row in rows], [value(row) for row in rows], marks, True)

    def score(name: str) -> Column:
        places = _digits([found for row in rows if (found := row.scores.get(name))])
        return number(
            name,
            lambda row: _mean(row.scores.get(name)),
            lambda row: _spread(row.scores.get(name), places),
            comparison.best(name),
        )

    def cost(name: str) -> Column:
        return number(
            cost_head(comparison, name),
            lambda row: _mean(row.costs.get(name)),
            lambda row: _cost(row, name),
            comparison.best(name),
        )

    def test(over: str, found: Callable[[Row], Difference | SeedDifference | None]) -> list[Column]:
        def value(name: str) -> Callable[[Row], float | None]:
            return lambda row: getattr(found(row), name, None)

        return [
            number(f"95 % ({over})", value("low"), lambda row: _bounds(found(row), digits)),
            number(f"p ({over})", value("p"), lambda row: _probability(found(row))),
        ]

    found = [
        text("run", lambda row: row.group.label),
        *(text(key, partial(_setting, key)) for key in settings),
        number("n", lambda row: row.scores[metric].n, lambda row: str(row.scores[metric].n)),
        score(metric),
        number(
            "95 % interval",
            lambda row: row.scores[metric].low,
            lambda row: _interval(row.scores[metric], digits),
        ),
        number(
            "min to max", lambda row: row.scores[metric].least, lambda row: _range(row.scores[metric], digits)
        ),
        number(
            "difference", partial(difference, comparison), lambda row: _difference(comparison, row, digits)
        ),
        *test("items", lambda row: row.items),
        *test("seeds", lambda row: row.seeds),
        *map(score, _others(comparison, complete)),
        *map(cost, COSTS),
    ]
    return [one for one in found if any(one.cells)]


def notes(comparison: Comparison, *, complete: bool = False, mark: str = _BEST) -> list[str]:
    """What stands below the table that `columns` gives, of which `mark` says how it shows the best."""
    rows = comparison.rows
    lines = [f"{mark} the best of its column; differences are from {comparison.baseline.group.label}"]
    number = len(comparison.settings)
    if number > _MOST_SETTINGS and not complete:
        hidden = number - _MOST_SETTINGS
        lines.append(f"not shown: {hidden} of {number} settings that differ; --csv and --html have them")
    if any(row.scores[comparison.metric].deviation is not None for row in rows):
        lines.append("± standard deviation over n seeds, with Student's 95 % interval of the mean")
    if any(row.seeds for row in rows):
        pairs = {row.seeds.seeds for row in rows if row.seeds}
        how = [f"paired t-test over seeds {', '.join(map(str, seeds))}" for seeds in sorted(pairs) if seeds]
        how += ["Welch's t-test where fewer than two seeds are shared"] if () in pairs else []
        lines.append(f"p (seeds): {'; '.join(how)}; two-sided")
        most = max(row.scores[comparison.metric].n for row in rows)
        if any(seeds and len(seeds) < most for seeds in pairs):
            lines.append("95 % (seeds): of the difference over these seeds alone, which may be fewer than n")
    others = [row for row in rows if row is not comparison.baseline and len(row.group.seeds) > 1]
    alike = [row.group.label for row in others if not row.seeds]
    if alike and len(comparison.baseline.group.seeds) > 1:
        lines.append(f"no p over seeds: every seed shows the same difference: {', '.join(alike)}")
    lines += comparison.notes
    for name in _others(comparison, complete):
        if fewer := ", ".join(filter(None, (_missing(row, name) for row in rows))):
            lines.append(f"{name}: no finite value in {fewer}")
    tested = sum(bool(row.seeds or row.items) for row in rows)
    if tested > 1:
        lines.append(
            f"{tested} comparisons, p-values not corrected for it: divide 0.05 by {tested} (Bonferroni)"
        )
    return list(map(printable, lines))


def left_out(runs: Sequence[Run]) -> list[str]:
    """A line for each run that is in no mean."""
    return [printable(f"{run.state}: {run.path}: {run.left_out}") for run in runs]


def print_table(comparison: Comparison) -> None:
    """Prints the table: on a terminal in as many parts as it needs; else a line for each row.

    Rows have short names, which `--baseline` takes, too; Markdown, CSV and the page have the whole ones.
    """
    comparison = _named_shortly(comparison)
    console = Console()
    if not console.is_terminal:
        console = Console(width=10_000)
    first, *others = columns(comparison)
    for part in _parts(first, others, console.width):
        table = Table(box=HEAVY_HEAD if console.is_terminal else None, pad_edge=console.is_terminal)
        for column in (first, *part):
            table.add_column(
                column.head,
                justify="right" if column.is_number else "left",
                overflow="fold",
                no_wrap=column is not first,
            )
        for number in range(len(comparison.rows)):
            cells = [Text(_marked(column, number)) for column in (first, *part)]  # no markup in a name
            for cell, column in zip(cells, (first, *part), strict=True):
                cell.stylize("bold green" if column.best[number] else "")
            table.add_row(*cells)
        console.print(table)
    lines = notes(comparison)
    if comparison.left_out:
        lines += ["", f"left out ({len(comparison.left_out)}):", *left_out(comparison.left_out)]
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _named_shortly(comparison: Comparison) -> Comparison:
    """The same comparison of rows with short names."""
    rows = tuple(
        replace(row, group=replace(row.group, label=row.group.short or row.group.label))
        for row in comparison.rows
    )
    baseline = comparison.rows.index(comparison.baseline)
    question = replace(comparison.question, baseline=rows[baseline].group.label)
    return replace(comparison, rows=rows, question=question)


def _parts(first: Column, others: Sequence[Column], width: int) -> list[list[Column]]:
    """Columns that fit beside the first one, which may take a third of the width and is in every part."""
    left = width - min(_width(first), width // 3)
    parts: list[list[Column]] = [[]]
    room = left
    for column in others:
        if parts[-1] and room < _width(column):
            parts.append([])
            room = left
        parts[-1].append(column)
        room -= _width(column)
    return parts


def _width(column: Column) -> int:
    """With the frame, and the mark of the best."""
    marked = (_marked(column, number) for number in range(len(column.cells)))
    return max(map(cell_len, (column.head, *marked))) + _FRAME


def markdown(comparison: Comparison) -> str:
    """The table as Markdown, the best of a column in bold, with what stands below it."""
    shown = columns(comparison)
    lines = [[_escaped(column.head) for column in shown]]
    lines.append(["---:" if column.is_number else "---" for column in shown])
    for number in range(len(comparison.rows)):
        cells = ((_escaped(column.cells[number]), column.best[number]) for column in shown)
        lines.append([f"**{cell}**" if best else cell for cell, best in cells])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    text += "\n" + "".join(f"- {_escaped(line)}\n" for line in notes(comparison, mark="Bold:"))
    if comparison.left_out:
        text += f"\nLeft out ({len(comparison.left_out)}):\n\n"
        text += "".join(f"- {_escaped(line)}\n" for line in left_out(comparison.left_out))
    return text


def comma_separated(comparison: Comparison) -> str:
    """Every number in full, with all settings and metrics; a run that was left out has a row without."""
    metrics = list({name: None for row in comparison.rows for name in row.scores})
    parts = Summary._fields
    speed = f"{comparison.unit}_per_second"
    head = ["run", "state", "reason", "config_hash", "seeds", *comparison.settings]
    head += [name if part == "mean" else f"{name}_{part}" for name in metrics for part in parts]
    head += ["difference", "items_low", "items_high", "items_p"]
    head += ["seeds_difference", "seeds_low", "seeds_high", "seeds_p"]
    head += [speed if name == "per_second" else name for name in COSTS]
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    for row in comparison.rows:
        group = row.group
        line: list[object] = [group.label, group.runs[0].state, ""]
        line += [group.runs[0].results.get("config_hash", ""), " ".join(map(str, group.seeds))]
        line += [group.settings.get(key, "") for key in comparison.settings]
        for name in metrics:
            line += list(row.scores[name]) if name in row.scores else [""] * len(parts)
        line += [difference(comparison, row), *(row.items[2:] if row.items else [""] * 3)]
        line += list(row.seeds[:4]) if row.seeds else [""] * 4
        line += [row.costs[name].mean if name in row.costs else "" for name in COSTS]
        writer.writerow(line)
    for run in comparison.left_out:
        blanks = [""] * (len(head) - 3)
        writer.writerow([str(run.path), run.state, run.left_out, *blanks])
    return printable(file.getvalue())


def difference(comparison: Comparison, row: Row) -> float | None:
    """Of a row's mean from the baseline's; None of the baseline itself."""
    if row.group is comparison.baseline.group:
        return None
    return row.scores[comparison.metric].mean - comparison.baseline.scores[comparison.metric].mean


def cost_head(comparison: Comparison, name: str) -> str:
    """How a column of costs is called."""
    heads = {"per_second": f"{comparison.unit}/s", "peak_memory_bytes": "peak GiB"}
    return heads.get(name, name)


def in_unit(name: str, cost: float) -> float:
    """A cost in what its head says."""
    return cost / _GIB if name == "peak_memory_bytes" else cost


def _others(comparison: Comparison, complete: bool) -> list[str]:
    """The metrics that are shown beside the first."""
    measured = list({name: None for row in comparison.rows for name in row.scores})
    return [
        name for name in (measured if complete else comparison.question.metrics) if name != comparison.metric
    ]


def _missing(row: Row, name: str) -> str:
    """How many of a row's `n` runs are not in its mean of a metric; empty where all or none of them are."""
    runs = len(row.group.runs)
    if name not in row.scores or row.scores[name].n == runs:
        return ""
    return f"{runs - row.scores[name].n} of {runs} runs of {row.group.label}"


def _marked(column: Column, number: int) -> str:
    return f"{column.cells[number]} {_BEST}" if column.best[number] else column.cells[number]


def _escaped(text: str) -> str:
    """So that nothing in a name is markup: it stays what it is, on one line."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.splitlines()))


def _digits(found: Sequence[Summary]) -> int:
    """Places behind the point: the largest mean has four digits or five, as far as that takes two places."""
    largest = max((abs(one.mean) for one in found), default=0)
    return 2 if largest >= 10 else 3 if largest > 1 else 4


def _setting(key: str, row: Row) -> str:
    return row.group.settings.get(key, "")


def _mean(found: Summary | None) -> float | None:
    return None if found is None else found.mean


def _spread(found: Summary | None, digits: int) -> str:
    if found is None:
        return ""
    mean = f"{found.mean:z.{digits}f}"
    return mean if found.deviation is None else f"{mean} ± {found.deviation:.{digits}f}"


def _interval(found: Summary, digits: int) -> str:
    if found.low is None or found.high is None:
        return ""
    return f"[{found.low:z.{digits}f}, {found.high:z.{digits}f}]"


def _range(found: Summary, digits: int) -> str:
    return "" if found.n == 1 else f"{found.least:z.{digits}f} to {found.most:z.{digits}f}"


def _bounds(found: Difference | SeedDifference | None, digits: int) -> str:
    return "" if found is None else f"[{found.low:+z.{digits}f}, {found.high:+z.{digits}f}]"


def _probability(found: Difference | SeedDifference | None) -> str:
    if found is None:
        return ""
    return f"{found.p:.3f}" if found.p >= 0.001 else "<0.001"


def _difference(comparison: Comparison, row: Row, digits: int) -> str:
    found = difference(comparison, row)
    return "" if found is None else f"{found:+z.{digits}f}"


def _cost(row: Row, name: str) -> str:
    if name not in row.costs:
        return ""
    mean = in_unit(name, row.costs[name].mean)
    if name == "peak_memory_bytes":
        return f"{mean:.2f}"
    return f"{mean:,.1f}" if name == "seconds" and mean < 1000 else f"{mean:,.0f}"
