"""What models read of one input, as one page that needs no network: data, style and script are in it."""

import html
from collections.abc import Mapping
from importlib.resources import files

from zoo.reports.embedding import embedded, filled
from zoo.reports.explorer.page_data import page_data
from zoo.tasks.exploration import Exploration

_PARTS = files("zoo.reports.explorer") / "page"
_SCRIPTS = ("base.js", "tokens.js", "texts.js", "pictures.js", "memory.js", "page.js")
"""In the order in which they are read."""


def page(given: str, explorations: Mapping[str, Exploration]) -> str:
    """The page.

    Args:
        given: the input, in words.
        explorations: what there is to see of it, by the names of runs.
    """
    title = f"What {', '.join(explorations)} read"
    parts = {
        "title": html.escape(title),
        "style": _read("page.css"),
        "data": embedded(page_data(given, explorations)),
        "script": "\n".join(map(_read, _SCRIPTS)),
    }
    return filled(_read("page.html"), parts)


def _read(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")
