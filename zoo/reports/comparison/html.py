"""A comparison as one page that needs no network: data, style, script and charts are in it."""

import html
from importlib.resources import files

from plotly.offline import get_plotlyjs

from zoo.reports.comparison.comparison import Comparison
from zoo.reports.comparison.page_data import page_data
from zoo.reports.embedding import embedded, filled

_PARTS = files("zoo.reports.comparison") / "page"


def page(comparison: Comparison) -> str:
    """The page.

    Args:
        comparison: what is shown.
    """
    data = page_data(comparison)
    title = " ".join(filter(None, (data["dataSet"], f"{data['metric']} of {data['runs']} runs")))
    parts = {
        "title": html.escape(title),
        "style": _read("page.css") + _read("search.css"),
        "data": embedded(data),
        "plotly": get_plotlyjs(),
        "script": _read("page.js"),
        "search": _read("search.js"),
    }
    return filled(_read("page.html"), parts)


def _read(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")
