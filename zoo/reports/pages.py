"""Pages that hold what was measured: README and docs, in parts that are written anew from results/.

A part stands between `<!-- PART ARGUMENT...:begin -->` and `<!-- PART:end -->`:

| part | arguments | what |
| --- | --- | --- |
| results | which runs | a table for each data set |
| summary | which runs | a row for each recipe |
| matrix | a picture's name, which runs | mechanisms over data sets, drawn and as a table |
| curves | a picture's name, which runs | draws learning curves of recipes; the text in the part stays |
| lengths | a picture's name, which runs | draws a score by the input's length; the text in the part stays |
| sizes | a picture's name, which runs | draws a share at sizes beyond training; the text in the part stays |
| beside | beginnings of sources, `;` between them, or none for all | results/anchors.yaml beside ours |
| cost | a picture's name | what layers cost, drawn and as tables |
| speed | a file of results/benchmarks, without its ending | this beside other implementations |
| faster | | the same in two sentences |
| faults | | what was done to trainings, and what it cost |

Which runs: names of recipes; what results.json says of them, such as `task=RecognitionTask,TrackingTask`,
`model=Transformer` or `data=multi30k`; and `changes=attention,selection`, the only settings that may be other
than in the recipe. All must hold; without any word all runs.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from zoo.config.overrides import key_of
from zoo.core.files import write_bytes, write_text
from zoo.core.problems import unknown
from zoo.figures.comparison import Score
from zoo.figures.matrix import LABEL_COLUMNS, Panel, side_by_side
from zoo.figures.png import png
from zoo.reports.anchors import read_anchors
from zoo.reports.beside import beside
from zoo.reports.drawings import by_length, by_size, learning_curves
from zoo.reports.layer_costs import cost_tables, drawn_costs
from zoo.reports.names import recipe_of
from zoo.reports.runs import Run
from zoo.reports.short_names import RowName, short_names
from zoo.reports.speed_sentences import CLAIMS, speed_sentences
from zoo.reports.speeds import speed_tables
from zoo.reports.tables import (
    by_data,
    fault_table,
    matrix,
    mechanisms,
    quality_columns,
    summary,
    tables,
)

_PART = re.compile(
    r"<!-- (?P<part>\w+)(?P<arguments>[^>\n]*):begin -->\n(?P<old>.*?)<!-- (?P=part):end -->", re.DOTALL
)
_BEGIN = re.compile(r"<!-- (?P<part>\w+)[^>\n]*:begin -->")
_NOTHING = "\nNot measured yet.\n\n"
_DRAWN = ("matrix", "curves", "lengths", "sizes", "cost")
_OF_FILES = ("beside", "speed", "faster")
_KEYS = {"task": "task", "model": "model", "data": "data_set"}
"""What results.json calls the words by which runs are chosen."""


def write_pages(project: Path, published: Sequence[Run]) -> None:
    """Writes the parts of all pages, and the pictures that they show.

    Args:
        project: the checkout.
        published: what was measured.

    Raises:
        ValueError: a page asks for a part that there is not, or does not end one.
    """
    for page in [project / "README.md", *sorted((project / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        begun, ended = len(_BEGIN.findall(text)), len(_PART.findall(text))
        if begun != ended:
            raise ValueError(f"{page}: of {begun} parts that begin {ended} end")
        written = _PART.sub(partial(_written, page=page, project=project, published=published), text)
        if written != text:
            write_text(page, written)


def _written(part: re.Match[str], *, page: Path, project: Path, published: Sequence[Run]) -> str:
    name, old = part["part"], part["old"]
    words = part["arguments"].split()
    if name in _DRAWN and not words:
        raise ValueError(f"{page}: {name} needs the name of a picture: <!-- {name} NAME ...:begin -->")
    picture = project / "docs" / "pictures" / f"{words[0]}.png" if name in _DRAWN else project
    try:
        chosen = [] if name in _OF_FILES else _chosen(published, words[1:] if name in _DRAWN else words)
    except ValueError as error:
        raise ValueError(f"{page}: {error}") from error
    makers: Mapping[str, Callable[[], str]] = {
        "results": lambda: tables(chosen),
        "summary": lambda: summary(chosen),
        "matrix": lambda: _matrix(chosen, picture, page),
        "curves": lambda: _drawn(learning_curves(chosen), picture, old),
        "lengths": lambda: _drawn(by_length(chosen), picture, old),
        "sizes": lambda: _drawn(by_size(chosen), picture, old),
        "beside": lambda: _beside(published, part["arguments"], project),
        "cost": lambda: _cost(project, picture, page) or old,
        "speed": lambda: _speed(project, words[0]) or old,
        "faster": lambda: _faster(project) or old,
        "faults": lambda: _faults(project) or old,
    }
    if name not in makers:
        raise ValueError(f"{page}: there is no part {name!r}; allowed: {', '.join(makers)}")
    return f"<!-- {name}{part['arguments']}:begin -->\n{makers[name]() or _NOTHING}<!-- {name}:end -->"


def _chosen(published: Sequence[Run], words: Sequence[str]) -> list[Run]:
    """The runs that a part is about."""
    recipes = {word for word in words if "=" not in word}
    asked = dict(word.split("=", 1) for word in words if "=" in word)
    if len(asked) + len(recipes) < len(words):
        raise ValueError(f"runs are chosen by every word once, got {' '.join(words)}")
    known = [*_KEYS, "changes"]
    for key in asked:
        if key not in known:
            raise ValueError(f"runs are chosen by {', '.join(known)}, got {key!r}{unknown(key, known)}")
    return [
        run
        for run in published
        if (not recipes or run.results["experiment"] in recipes)
        and all(_holds(run, key, values.split(",")) for key, values in asked.items())
    ]


def _holds(run: Run, key: str, values: Sequence[str]) -> bool:
    if key == "changes":
        return {key_of(text) for text in run.overrides} <= set(values)
    return run.results[_KEYS[key]].rpartition(".")[2] in values


def _beside(published: Sequence[Run], sources: str, project: Path) -> str:
    anchors = read_anchors(project / "results" / "anchors.yaml")
    wanted = [source.strip() for source in sources.split(";") if source.strip()]
    for source in wanted:
        if anchors and not any(anchor.source.startswith(source) for anchor in anchors):
            known = unknown(source, {anchor.source for anchor in anchors})
            raise ValueError(f"no source of published numbers begins with {source!r}{known}")
    return beside(published, [one for one in anchors if one.source.startswith(tuple(wanted or [""]))])


def _kept(project: Path, file: str) -> Any:
    """What a JSON file below results/ holds; None where it is not there."""
    path = project / "results" / file
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _faults(project: Path) -> str:
    faults = _kept(project, "faults.json")
    return "" if faults is None else fault_table(faults)


def _speed(project: Path, name: str) -> str:
    file = f"benchmarks/{name}.json"
    figures = _kept(project, file)
    return "" if figures is None else speed_tables(figures, f"results/{file}")


def _faster(project: Path) -> str:
    return speed_sentences({name: _kept(project, f"benchmarks/{name}.json") for name in CLAIMS})


def _cost(project: Path, picture: Path, page: Path) -> str:
    """Picture and tables of what layers cost; writes the picture."""
    figures = _kept(project, "benchmarks/cost_of_layers.json")
    if figures is None:
        return ""
    write_bytes(picture, png(drawn_costs(figures)))
    shown = os.path.relpath(picture, page.parent)
    return f"\n![Time over positions, and crossing points over features]({shown})\n{cost_tables(figures)}"


def _drawn(figure: Figure | None, picture: Path, old: str) -> str:
    if figure is not None:
        write_bytes(picture, png(figure))
    return old


def _matrix(published: Sequence[Run], picture: Path, page: Path) -> str:
    """Picture and table of mechanisms; writes the picture."""
    if not published:
        return ""
    panels = []
    shorts = _short_mechanisms(published)
    for data, runs in by_data(published).items():
        for column in quality_columns(runs):
            metric, _, split = column.head.partition(" ")
            title = f"{data} {split}".strip()
            scores = []
            for name, of in mechanisms(runs).items():
                if found := column.summary(of):
                    ends = None if found.low is None or found.high is None else (found.low, found.high)
                    values = [value for run in of if (value := column.value(run)) is not None]
                    scores.append(Score(shorts[name], values, ends))
            panels.append(Panel(f"{title}\n{metric}", scores, column.higher_is_better))
    write_bytes(picture, png(side_by_side(panels)))
    path = os.path.relpath(picture, page.parent)
    return f"\n![{picture.stem}: mean, interval and seeds of each mechanism]({path})\n{matrix(published)}"


def _short_mechanisms(published: Sequence[Run]) -> dict[str, str]:
    """A name for each mechanism that leaves room for its score: what few others have comes first."""
    found = {name: of[0] for runs in by_data(published).values() for name, of in mechanisms(runs).items()}
    rows = [RowName(name, recipe_of(run.results), run.overrides) for name, run in found.items()]
    shorts = short_names(rows, LABEL_COLUMNS)
    return dict(zip(found, shorts if len(set(shorts)) == len(found) else found, strict=True))
