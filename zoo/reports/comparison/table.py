"""A comparison as a table: for a terminal or a pipe, as Markdown, as CSV."""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from typing import NamedTuple

from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zoo.reports.columns import Column, interval, spread, written
from zoo.reports.columns import markdown as markdown_table
from zoo.reports.comparison.comparison import Comparison, Row
from zoo.reports.controls import control_metrics, controls_said
from zoo.reports.names import printable
from zoo.reports.runs import Run
from zoo.reports.seeds import SeedDifference, Summary
from zoo.reports.significance import Difference

_MOST_SETTINGS = 8
"""Columns of settings in a table that is read, the first there are; CSV and the page hold any number."""
_BEST = "*"
_FRAME = 3
"""What a frame adds to the width of a column."""
_MARKUP = re.compile(r"[\\`*<&~|]|\](?=\()")
"""What means something in Markdown, but for what is in numbers and the names of metrics."""

Format = Callable[[Summary | None, int, float], str]
"""Writes a summary with so many decimal places, multiplied by a scale."""


class Cells(NamedTuple):
    """One column of text.

    Attributes:
        head: its name.
        cells: one for each row, empty where there is nothing to say.
        values: what numbers are sorted by; None of text, and of empty cells.
        best: which cells are the best of the column.
        is_number: whether it is set to the right.
        is_setting: whether it says what runs were told, and not what they measured.
    """

    head: str
    cells: list[str]
    values: list[float | None]
    best: list[bool]
    is_number: bool = True
    is_setting: bool = False


def columns(comparison: Comparison, *, complete: bool = False) -> list[Cells]:
    """The table's columns; one that would be empty in every row is none.

    Args:
        comparison: what is shown.
        complete: with every setting that differs and every metric, however many there are.
    """
    rows, nothing = comparison.rows, [False] * len(comparison.rows)
    shown = comparison.metrics[comparison.metric]
    scores = [row.scores[comparison.metric] for row in rows]
    digits = shown.places(scores)
    settings = comparison.settings if complete else comparison.settings[:_MOST_SETTINGS]

    def text(head: str, cells: Iterable[str]) -> Cells:
        lines = [printable(" ".join(cell.splitlines())) for cell in cells]
        return Cells(head, lines, [None] * len(rows), nothing, is_number=False)

    def quantity(name: str, column: Column, found: Sequence[Summary | None], cell: Format = spread) -> Cells:
        places, best = column.places(found), comparison.best(name)
        return Cells(
            column.head,
            [cell(one, places, column.scale) for one in found],
            [one and one.mean * column.scale for one in found],
            [any(row is one for one in best) for row in rows],
        )

    def test(over: str, found: Sequence[Difference | SeedDifference | None]) -> list[Cells]:
        bounds = [interval(one.low, one.high, digits, "+") if one else "" for one in found]
        texts = [_probability(one) for one in found]
        return [
            Cells(f"95 % ({over})", bounds, [one and one.low for one in found], nothing),
            Cells(f"p ({over})", texts, [one and one.p for one in found], nothing),
        ]

    differences = [difference(comparison, row) for row in rows]
    ends = [interval(one.low, one.high, digits) for one in scores]
    ranges = [
        "" if one.n == 1 else f"{written(one.least, digits)} to {written(one.most, digits)}" for one in scores
    ]
    found = [
        text("run", (row.group.label for row in rows)),
        *(
            text(key, (row.group.settings.get(key, "") for row in rows))._replace(is_setting=True)
            for key in settings
        ),
        Cells("n", [str(one.n) for one in scores], [one.n for one in scores], nothing),
        quantity(comparison.metric, shown, scores),
        Cells("95 % interval", ends, [one.low for one in scores], nothing),
        Cells("min to max", ranges, [one.least for one in scores], nothing),
        Cells("difference", [written(one, digits, "+") for one in differences], differences, nothing),
        *test("items", [row.items for row in rows]),
        *test(f"{comparison.unit}s", [row.seeds for row in rows]),
        *(
            quantity(name, comparison.metrics[name], [row.scores.get(name) for row in rows])
            for name in _others(comparison, complete)
        ),
        *(
            quantity(name, column, [row.costs.get(name) for row in rows], _mean)
            for name, column in comparison.costs.items()
        ),
    ]
    return [one for one in found if any(one.cells)]


def notes(comparison: Comparison, *, complete: bool = False, mark: str = _BEST) -> list[str]:
    """What stands below the table that `columns` gives, of which `mark` says how it shows the best."""
    rows, unit = comparison.rows, comparison.unit
    lines = [f"{mark} the best of its column; differences are from {comparison.baseline.group.label}"]
    number = len(comparison.settings)
    if number > _MOST_SETTINGS and not complete:
        hidden = number - _MOST_SETTINGS
        lines.append(f"not shown: {hidden} of {number} settings that differ; --csv and --html have them")
    if any(row.scores[comparison.metric].deviation is not None for row in rows):
        several = any(len(row.group.runs) > row.scores[comparison.metric].n for row in rows)
        each = ", each the mean of its seeds" if comparison.unit == "fold" and several else ""
        share = ", cut at 0 and 1" if comparison.metrics[comparison.metric].share else ""
        student = f"with Student's 95 % interval of the mean{share}"
        lines.append(f"± standard deviation over n {unit}s{each}, {student}")
    if any(row.seeds for row in rows):
        pairs = {row.seeds.seeds for row in rows if row.seeds}
        how = [f"paired t-test over {unit}s {', '.join(map(str, seeds))}" for seeds in sorted(pairs) if seeds]
        how += ["Welch's t-test where fewer than two seeds are shared"] if () in pairs else []
        lines.append(f"p ({unit}s): {'; '.join(how)}; two-sided")
        most = max(row.scores[comparison.metric].n for row in rows)
        if any(seeds and len(seeds) < most for seeds in pairs):
            over = f"of the difference over these {unit}s alone, which may be fewer than n"
            lines.append(f"95 % ({unit}s): {over}")
    others = [row for row in rows if row is not comparison.baseline and row.scores[comparison.metric].n > 1]
    alike = [row.group.label for row in others if not row.seeds]
    if alike and comparison.baseline.scores[comparison.metric].n > 1:
        lines.append(f"no p over {unit}s: every {unit} shows the same difference: {', '.join(alike)}")
    lines += comparison.notes
    shown = {
        (comparison.question.split, name): comparison.metrics[name]
        for name in (comparison.metric, *_others(comparison, complete))
    }
    if controls := controls_said([row.group.runs for row in rows], shown):
        lines.append(f"controls: {'; '.join(controls)}")
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

    Rows have short names as on the page, in pictures and in Markdown; CSV has the whole ones.
    """
    comparison = comparison.named_shortly
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


def _parts(first: Cells, others: Sequence[Cells], width: int) -> list[list[Cells]]:
    """Columns that fit beside the first one, which may take a third of the width and is in every part."""
    left = width - min(_width(first), width // 3)
    parts: list[list[Cells]] = [[]]
    room = left
    for column in others:
        if parts[-1] and room < _width(column):
            parts.append([])
            room = left
        parts[-1].append(column)
        room -= _width(column)
    return parts


def _width(column: Cells) -> int:
    """With the frame, and the mark of the best."""
    marked = (_marked(column, number) for number in range(len(column.cells)))
    return max(map(cell_len, (column.head, *marked))) + _FRAME


def markdown(comparison: Comparison) -> str:
    """The table as Markdown, the best of a column in bold, with what stands below it."""
    comparison = comparison.named_shortly
    shown = columns(comparison)
    lines = [[_escaped(column.head) for column in shown]]
    for number in range(len(comparison.rows)):
        cells = ((_escaped(column.cells[number]), column.best[number]) for column in shown)
        lines.append([f"**{cell}**" if best else cell for cell, best in cells])
    text = markdown_table(lines, [column.is_number for column in shown])
    text += "\n" + "".join(f"- {_escaped(line)}\n" for line in notes(comparison, mark="Bold:"))
    if comparison.left_out:
        text += f"\nLeft out ({len(comparison.left_out)}):\n\n"
        text += "".join(f"- {_escaped(line)}\n" for line in left_out(comparison.left_out))
    return text


def comma_separated(comparison: Comparison) -> str:
    """Every number in full, with all settings and metrics; a run that was left out has a row without."""
    metrics = list({name: None for row in comparison.rows for name in row.scores})
    parts = Summary._fields
    speed = comparison.costs["per_second"].head.replace("/s", "_per_second")
    unit, folds = comparison.unit, ["folds"] if comparison.unit == "fold" else []
    head = ["run", "state", "reason", "config_hash", "seeds", *folds, *comparison.settings]
    head += [name if part == "mean" else f"{name}_{part}" for name in metrics for part in parts]
    head += ["difference", "items_low", "items_high", "items_p"]
    head += [f"{unit}s_{part}" for part in ("difference", "low", "high", "p")]
    head += [name.replace("per_second", speed) for name in comparison.costs]
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    for row in comparison.rows:
        group = row.group
        line: list[object] = [group.label, group.runs[0].state, ""]
        line += [group.runs[0].results.get("config_hash", ""), " ".join(map(str, group.seeds))]
        line += [" ".join(map(str, group.folds))] if folds else []
        line += [group.settings.get(key, "") for key in comparison.settings]
        for name in metrics:
            line += list(row.scores[name]) if name in row.scores else [""] * len(parts)
        line += [difference(comparison, row), *(row.items[2:] if row.items else [""] * 3)]
        line += list(row.seeds[:4]) if row.seeds else [""] * 4
        line += [row.costs[name].mean if name in row.costs else "" for name in comparison.costs]
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


def _others(comparison: Comparison, complete: bool) -> list[str]:
    """The metrics shown beside the first; controls, unless asked for, have a line below the table."""
    asked = comparison.question.metrics
    measured = {name: None for row in comparison.rows for name in row.scores}
    controls = control_metrics([row.group.runs for row in comparison.rows]) - {*asked}
    return [
        name
        for name in (measured if complete else asked)
        if name != comparison.metric and name not in controls
    ]


def _missing(row: Row, name: str) -> str:
    """How many of a row's `n` runs are not in its mean of a metric; empty where all or none of them are."""
    runs = len(row.group.runs)
    if name not in row.scores or row.scores[name].n == runs:
        return ""
    return f"{runs - row.scores[name].n} of {runs} runs of {row.group.label}"


def _marked(column: Cells, number: int) -> str:
    return f"{column.cells[number]} {_BEST}" if column.best[number] else column.cells[number]


def _escaped(text: str) -> str:
    """So that nothing in a name is markup: it stays what it is, on one line."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.splitlines()))


def _mean(found: Summary | None, digits: int, scale: float) -> str:
    return written(found and found.mean * scale, digits)


def _probability(found: Difference | SeedDifference | None) -> str:
    if found is None:
        return ""
    return f"{found.p:.3f}" if found.p >= 0.001 else "<0.001"
