"""A comparison as one page that needs no network: data, style, script and charts are in it."""

import html
import json
import re
from importlib.resources import files
from typing import Any

from plotly.offline import get_plotlyjs

from zoo.reports.comparison.comparison import Comparison
from zoo.reports.comparison.page_data import page_data
from zoo.reports.names import printable

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
        "style": _read("page.css"),
        "data": _embedded(data),
        "plotly": get_plotlyjs(),
        "script": _read("page.js"),
    }
    # in one pass: what is put in is not looked at for places
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _read("page.html"))


def _embedded(data: dict[str, Any]) -> str:
    """JSON that no text in it can end: `<` is written as an escape."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return printable(text).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _read(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")
