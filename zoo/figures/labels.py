"""Text of any script and any length on figures."""

import math
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from matplotlib import font_manager
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

_WIDER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "Noto Serif CJK SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "IPAexGothic",
    "NanumGothic",
    "Microsoft YaHei",
    "SimHei",
    "PingFang SC",
    "Hiragino Sans",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Sans",
    "Arial Unicode MS",
)


@cache
def families() -> tuple[str, ...]:
    """Font families: DejaVu, which matplotlib ships, then installed ones that cover more scripts."""
    installed = set(font_manager.get_font_names())
    return ("DejaVu Sans", *(name for name in _WIDER_SCRIPTS if name in installed))


@cache
def _drawable() -> frozenset[int]:
    """Code points that `families` cover."""
    files = {font_manager.findfont(FontProperties(family=name)) for name in families()}
    return frozenset(code for file in files for code in font_manager.get_font(file).get_charmap())


def text_style(**style: Any) -> dict[str, Any]:
    """Keyword arguments of matplotlib for text in any script, in which a dollar sign is only a sign."""
    return {"fontfamily": list(families()), "parse_math": False, **style}


def legible(text: str) -> str:
    r"""The text with escapes like `\u72ac` for characters that no font covers: their boxes all look alike."""
    return "".join(
        sign if ord(sign) in _drawable() else sign.encode("unicode_escape").decode() for sign in text
    )


@contextmanager
def any_script() -> Iterator[None]:
    """Silences the warnings for characters that no font covers; they are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        warnings.filterwarnings(
            "ignore", message="Matplotlib currently does not support", category=UserWarning
        )
        yield


def shortened(text: str, columns: int) -> str:
    """The text on one line of at most `columns` columns, with an ellipsis where it was cut off.

    Wide characters (Chinese, Japanese, Korean, emoji) take two columns, combining marks none; characters that
    cannot be printed become dots.
    """
    text = "".join(sign if sign.isprintable() else "·" for sign in text)
    widths = [_columns(sign) for sign in text]
    if sum(widths) <= columns:
        return text
    kept, used = 0, 0
    while used + widths[kept] <= columns - 1:
        used += widths[kept]
        kept += 1
    return text[:kept].rstrip() + "…"


def text_width(text: str, points: float) -> float:
    """Width in inches of a line of text at a font size."""
    with any_script():
        font = FontProperties(family=list(families()), size=points)
        across, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(across) / 72


def padded_width(text: str, points: float) -> float:
    """Width in inches to reserve for a line of text: where pixels are coarse it may grow a little."""
    return 1.06 * text_width(text, points)


def fitted(text: str, points: float, inches: float) -> str:
    """The text on one line, shortened until its `padded_width` is at most `inches`."""
    columns = sum(map(_columns, text))
    text = shortened(text, columns)
    while columns > 1 and (needed := padded_width(text, points)) > inches:
        # In proportion first, then column by column: characters are not equally wide.
        columns = max(1, min(columns - 1, math.ceil(columns * inches / needed)))
        text = shortened(text, columns)
    return text


def _columns(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
