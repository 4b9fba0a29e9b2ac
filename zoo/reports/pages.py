"""Pages that hold what was measured: README and docs, in parts that are written anew from results/.

A part stands between `<!-- PART ARGUMENT...:begin -->` and `<!-- PART:end -->`:

| part | arguments | what |
| --- | --- | --- |
| results | patterns of recipes, else all | a table for each data set |
| summary | patterns of recipes, else all | a row for each recipe |
| matrix | a picture's name, patterns of recipes | mechanisms over data sets, drawn and as a table |
| beside | patterns of recipes, else all | the numbers of results/anchors.yaml beside ours |
| faults | | what was done to trainings, and what it cost |
"""

import fnmatch
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from zoo.core.files import write_bytes, write_text
from zoo.figures.comparison import Score
from zoo.figures.matrix import Panel, side_by_side
from zoo.figures.png import png
from zoo.metrics import METRICS
from zoo.reports.anchors import read_anchors
from zoo.reports.seeds import summarise
from zoo.reports.tables import (
    Results,
    beside,
    compared,
    fault_table,
    headline,
    matrix,
    mechanisms,
    splits_of,
    summary,
    tables,
)

_PART = re.compile(
    r"<!-- (?P<part>\w+)(?P<arguments>[^>\n]*):begin -->\n(?P<old>.*?)<!-- (?P=part):end -->", re.DOTALL
)
_BEGIN = re.compile(r"<!-- (?P<part>\w+)[^>\n]*:begin -->")
_NOTHING = "\nNot measured yet.\n\n"


def write_pages(project: Path, published: Sequence[Results]) -> None:
    """Writes the parts of all pages, and the pictures that they show.

    Args:
        project: the checkout.
        published: what was measured.

    Raises:
        ValueError: a page asks for a part that there is not, or does not end one.
    """
    for page in [project / "README.md", *sorted((project / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        _require_ends(page, text)
        written = _PART.sub(partial(_written, page=page, project=project, published=published), text)
        if written != text:
            write_text(page, written)


def _written(part: re.Match[str], *, page: Path, project: Path, published: Sequence[Results]) -> str:
    name, arguments = part["part"], part["arguments"].split()
    makers: Mapping[str, Callable[[], str]] = {
        "results": lambda: tables(_chosen(published, arguments)),
        "summary": lambda: summary(_chosen(published, arguments)),
        "matrix": lambda: _matrix(arguments[0], _chosen(published, arguments[1:]), page, project),
        "beside": lambda: _beside(published, arguments, project),
        "faults": lambda: _faults(project) or part["old"],
    }
    if name not in makers:
        raise ValueError(f"{page}: there is no part {name!r}; allowed: {', '.join(makers)}")
    if name == "matrix" and not arguments:
        raise ValueError(f"{page}: a matrix needs the name of a picture: <!-- matrix NAME ...:begin -->")
    head = f"<!-- {name}{part['arguments']}:begin -->"
    return f"{head}\n{makers[name]() or _NOTHING}<!-- {name}:end -->"


def _require_ends(page: Path, text: str) -> None:
    begun, ended = len(_BEGIN.findall(text)), len(_PART.findall(text))
    if begun != ended:
        raise ValueError(f"{page}: of {begun} parts that begin {ended} end")


def _chosen(published: Sequence[Results], patterns: Sequence[str]) -> list[Results]:
    """The results of recipes that fit one of the patterns, or all."""
    return [results for results in published if _fits(results["experiment"], patterns)]


def _fits(experiment: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(experiment, pattern) for pattern in patterns)


def _beside(published: Sequence[Results], patterns: Sequence[str], project: Path) -> str:
    anchors = read_anchors(project / "results" / "anchors.yaml")
    return beside(published, [anchor for anchor in anchors if _fits(anchor.experiment, patterns)])


def _faults(project: Path) -> str:
    path = project / "results" / "faults.json"
    return fault_table(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else ""


def _matrix(name: str, published: Sequence[Results], page: Path, project: Path) -> str:
    """Picture and table of mechanisms; writes the picture."""
    if not published:
        return ""
    picture = project / "docs" / "pictures" / f"{name}.png"
    panels = []
    for data, rows in compared(published).items():
        metric = headline(rows)
        for split in splits_of(rows):
            where = data if split == "test" else f"{data} ({split})"
            higher = bool(METRICS[metric].higher_is_better)
            panels.append(Panel(f"{where}\n{metric}", _scores(rows, split), higher))
    write_bytes(picture, png(side_by_side(panels)))
    path = os.path.relpath(picture, page.parent)
    return f"\n![{name}: mean, interval and seeds of each mechanism]({path})\n{matrix(published)}"


def _scores(rows: Sequence[Results], split: str) -> list[Score]:
    """What each mechanism reached on a test split; of several seeds with Student's 95 % interval."""
    metric, scores = headline(rows), []
    for mechanism, group in mechanisms(rows).items():
        values = [row[split][metric] for row in group]
        found = summarise(values)
        interval = None if found.low is None or found.high is None else (found.low, found.high)
        scores.append(Score(mechanism, values, interval))
    return scores
