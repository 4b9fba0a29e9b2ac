"""What pages are put together from: templates with places, and data that no text in it can end."""

import json
import re
from collections.abc import Mapping
from typing import Any

from zoo.reports.names import printable


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template with each `{{name}}` replaced, in one pass: what is put in is not looked at for places.

    Args:
        template: of the page.
        parts: by name, what stands in each place.
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def embedded(data: Any) -> str:
    """JSON for a script element, which no text in it can end: `<` is written as an escape.

    Args:
        data: plain containers with finite numbers.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return printable(text).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
