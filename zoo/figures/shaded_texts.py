"""Texts whose words are shaded by weight."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.figures.cells import COLOURS
from zoo.figures.labels import fitted, legible, padded_width
from zoo.figures.page import Page
from zoo.figures.shown import ShownSentence, ShownText, rounded

# All lengths in inches, all fonts in points.
_MARGIN = 0.2
_GAP = 0.4  # between columns
_COLUMN = 5.2  # width of a column
_COLUMNS = 3  # the most beside each other
_LINE = 0.21
_BETWEEN = 0.22  # between the texts of a column
_BAR = 0.55  # of the largest weight of a sentence
_BAR_GAP = 0.1
_MOST_LINES = 40
"""Of a text; what follows is counted."""

_HEADING_FONT = 11.0
_NOTE_FONT = 9.0
_FONT = 9.0
_DARKEST = 0.8
"""Of the colour map: words stay legible."""


class ShadedSentence(NamedTuple):
    """A text, or a sentence of a document.

    Attributes:
        words: in order; one with a blank before it begins with a blank.
        weights: one for each word; None without attention over words.
        weight: of the sentence in its document; None without attention over sentences.
    """

    words: Sequence[str]
    weights: Sequence[float] | None
    weight: float | None = None


class ShadedText(NamedTuple):
    """A text or document, and what to say about it.

    Attributes:
        sentences: of a text one.
        notes: lines above it.
    """

    sentences: Sequence[ShadedSentence]
    notes: Sequence[str] = ()

    def shades(self) -> list[list[float]]:
        """How dark each word is, from 0 to 1 for the darkest of the text.

        In documents it is `p_w sqrt(p_s)` of the weights of word and sentence, so that unimportant sentences
        stay light, but legible (Yang et al. 2016, section 3.5); where only sentences have weights, `p_s`.
        """
        found = []
        for words, weights, weight in self.sentences:
            if weights is None:
                found.append(np.full(len(words), weight or 0.0))
            else:
                found.append(np.asarray(weights, np.float64) * (1.0 if weight is None else np.sqrt(weight)))
        darkest = max((float(one.max()) for one in found if one.size), default=0.0)
        return [(one / darkest if darkest > 0 else one).tolist() for one in found]

    @property
    def scale(self) -> str:
        """The largest weights, of which shades and bars are shares."""
        words = [max(one.weights) for one in self.sentences if one.weights]
        sentences = [one.weight for one in self.sentences if one.weight is not None]
        said = {"word": words, "sentence": sentences}
        return ", ".join(f"largest {what} weight {max(found):.2f}" for what, found in said.items() if found)


def shaded_sheet(groups: Mapping[str, Sequence[ShadedText]], *, title: str = "") -> Figure:
    """Draws texts in columns, at most three beside each other.

    Args:
        groups: the texts of each column by its heading.
        title: stands above all.

    Raises:
        ValueError: there is no text.
    """
    columns = {heading: [_lay_out(text) for text in texts] for heading, texts in groups.items() if texts}
    if not columns:
        raise ValueError("a sheet of texts needs at least one text, got none")
    rows = [list(columns.items())[start : start + _COLUMNS] for start in range(0, len(columns), _COLUMNS)]
    heights = [max(_height(heading, panels) for heading, panels in row) for row in rows]
    across = 2 * _MARGIN + len(rows[0]) * (_COLUMN + _GAP) - _GAP
    top = _MARGIN + (_LINE + _BETWEEN if title else 0)
    page = Page(across, top + sum(heights) + _BETWEEN * (len(rows) - 1) + _MARGIN)
    page.write(fitted(title, _HEADING_FONT, across - 2 * _MARGIN), _MARGIN, _MARGIN, fontsize=_HEADING_FONT)
    for row, height in zip(rows, heights, strict=True):
        for number, (heading, panels) in enumerate(row):
            _draw_column(page, _MARGIN + number * (_COLUMN + _GAP), top, heading, panels)
        top += height + _BETWEEN
    page.figure.shown = [_shown(heading, text) for heading, texts in groups.items() for text in texts]
    return page.figure


def _shown(heading: str, text: ShadedText) -> ShownText:
    sentences = [
        ShownSentence(list(one.words), rounded(shades), one.weight)
        for one, shades in zip(text.sentences, text.shades(), strict=True)
    ]
    return ShownText("\n".join(filter(None, (heading, *text.notes))), sentences)


class _Word(NamedTuple):
    text: str
    shade: float
    left: float
    wide: float
    line: int


class _Panel(NamedTuple):
    """A text in lines; the bars of its sentences by line."""

    notes: list[str]
    words: list[_Word]
    bars: dict[int, float]
    lines: int

    @property
    def height(self) -> float:
        return (len(self.notes) + self.lines) * _LINE


def _height(heading: str, panels: Sequence[_Panel]) -> float:
    heading_height = 1.5 * _LINE if heading else 0.0
    return heading_height + sum(panel.height + _BETWEEN for panel in panels) - _BETWEEN


def _lay_out(text: ShadedText) -> _Panel:
    """Breaks a text into lines; a sentence that has a weight begins a line."""
    weighed = any(one.weight is not None for one in text.sentences)
    indent = _BAR + _BAR_GAP if weighed else 0.0
    heaviest = max((one.weight or 0.0 for one in text.sentences), default=0.0) or 1.0
    words: list[_Word] = []
    bars: dict[int, float] = {}
    line, left = 0, indent
    for sentence, shades in zip(text.sentences, text.shades(), strict=True):
        if weighed:
            line, left = (line + 1 if words else 0), indent
            bars[line] = (sentence.weight or 0.0) / heaviest
        for word, shade in zip(sentence.words, shades, strict=True):
            shown = fitted(legible(word.strip()), _FONT, _COLUMN - indent)
            wide = padded_width(shown, _FONT) + 0.03
            left += padded_width("n", _FONT) * 0.5 if word[:1].isspace() and left > indent else 0.0
            if left + wide > _COLUMN and left > indent:
                line, left = line + 1, indent
            words.append(_Word(shown, shade, left, wide, line))
            left += wide
    notes = [fitted(legible(note), _NOTE_FONT, _COLUMN) for note in text.notes]
    lines = words[-1].line + 1 if words else 0
    if lines <= _MOST_LINES:
        return _Panel(notes, words, bars, lines)
    kept = [word for word in words if word.line < _MOST_LINES - 1]
    more = f"… and {len(words) - len(kept):,} more words"
    kept.append(_Word(more, 0.0, indent, _COLUMN - indent, _MOST_LINES - 1))
    return _Panel(notes, kept, {at: bar for at, bar in bars.items() if at < _MOST_LINES - 1}, _MOST_LINES)


def _draw_column(page: Page, left: float, top: float, heading: str, panels: Sequence[_Panel]) -> None:
    if heading:
        page.write(fitted(heading, _HEADING_FONT, _COLUMN), left, top, fontsize=_HEADING_FONT)
        top += 1.5 * _LINE
    colours = colormaps[COLOURS]
    for panel in panels:
        for note in panel.notes:
            page.write(note, left, top, fontsize=_NOTE_FONT, color="0.35")
            top += _LINE
        for line, share in panel.bars.items():
            _box(page, left + _BAR * (1 - share), top + line * _LINE, _BAR * share, "indianred")
        for word in panel.words:
            at = left + word.left, top + word.line * _LINE
            if word.shade > 0:
                _box(page, *at, word.wide, colours(_DARKEST * word.shade))
            ink = "white" if word.shade > 0.75 else "black"
            middle = at[1] + _LINE / 2
            page.write(word.text, at[0] + 0.015, middle, fontsize=_FONT, va="center_baseline", color=ink)
        top += panel.lines * _LINE + _BETWEEN


def _box(page: Page, left: float, top: float, wide: float, colour: object) -> None:
    high = 0.86 * _LINE
    corner = left / page.across, 1 - (top + (_LINE + high) / 2) / page.down
    page.figure.add_artist(
        Rectangle(
            corner,
            wide / page.across,
            high / page.down,
            transform=page.figure.transFigure,
            facecolor=colour,
            edgecolor="none",
            zorder=0,
        )
    )
