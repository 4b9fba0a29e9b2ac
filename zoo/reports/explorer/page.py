"""What models read of one input, as one page that needs no network: data, style and script are in it."""

import html
from collections.abc import Mapping
from importlib.resources import files

from zoo.reports.embedding import embedded, filled
from zoo.reports.explorer.forms import Form
from zoo.reports.explorer.page_data import page_data
from zoo.reports.names import printable
from zoo.tasks.exploration import Exploration

_PARTS = files("zoo.reports.explorer") / "page"
_SCRIPTS = ("base.js", "tokens.js", "texts.js", "pictures.js", "memory.js", "ask.js", "page.js")
"""In the order in which they are read."""


def page(given: str, explorations: Mapping[str, Exploration], form: Form | None = None) -> str:
    """The page.

    Args:
        given: the input, in words.
        explorations: what there is to see of it, by the names of runs; nothing before a first question.
        form: what a page that is served asks for; None: the page is a file.
    """
    title = f"What {', '.join(explorations)} read" if explorations else "Attention explorer"
    data = page_data(given, explorations)
    if form is not None:
        data["form"] = {"kind": form.kind, "takesLength": form.takes_length}
    parts = {
        "title": html.escape(printable(title)),
        "connect": "" if form is None else " connect-src 'self';",
        "style": _read("page.css"),
        "data": embedded(data),
        "script": "\n".join(map(_read, _SCRIPTS)),
    }
    return filled(_read("page.html"), parts)


def _read(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")
