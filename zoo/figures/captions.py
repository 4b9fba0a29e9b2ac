"""The attention of a captioner over the image, word by word."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.figures.checks import require_range
from zoo.figures.labels import fitted, padded_width, text_style
from zoo.figures.page import DPI, Page
from zoo.figures.pixels import Array, image_pixels, show_pixels

# All lengths in inches, all fonts in points.
_IMAGE = 1.5  # longer side of an image
_LEAST = 0.6  # smallest width of a panel: words must fit over narrow images, too
_BETWEEN = 0.08  # between panels
_WORD = 0.24  # height of a word
_HEADING, _NOTE = 0.28, 0.22  # heights of the lines above a caption
_LINE = 7.0  # width that these lines may take, however few words there are
_MARGIN = 0.25
_GAP = 0.35  # between captions
_TITLE = 0.45
_WORDS = 8  # in a row

_TITLE_FONT = 13.0
_HEADING_FONT = 11.0
_NOTE_FONT = 9.0
_WORD_FONT = 10.0

_SPREAD = 0.5  # cells: standard deviation of the Gaussian that smooths a map
_CELL = "#E69F00"  # of a cell's frame: seen on bright and on dark
_RIM = "0.75"  # of an image's frame: white ones have borders, too
_COVER = (0.65, 0.45)  # opacity of the map where the least and where the most was read


class Captioned(NamedTuple):
    """An image, its caption, and the attention of each word.

    Attributes:
        image: `(C, H, W)` in [0, 1], grey or red, green and blue.
        words: T of them, in order.
        weights: `(T, h, w)` in [0, 1]: a grid over the whole image, cells of any shape.
        sampled: whether single cells were read; such maps are drawn as they are, all others smoothed.
        heading: stands above.
        notes: lines below the heading.
    """

    image: Any
    words: Sequence[str]
    weights: Any
    sampled: bool
    heading: str = ""
    notes: Sequence[str] = ()


class Written(Protocol):
    """A caption, as a captioner describes it."""

    @property
    def tokens(self) -> Sequence[str]:
        """T tokens, EOS included where it was written."""

    @property
    def finished(self) -> bool:
        """Whether the last token is EOS."""

    @property
    def weights(self) -> Any:
        """`(T, h, w)` in [0, 1]."""


def captioned(image: Any, caption: Written, *, heading: str = "", notes: Sequence[str] = ()) -> Captioned:
    """A caption without its EOS; it counts as sampled where all weights are 0 or 1.

    Args:
        image: see `Captioned`.
        caption: with weights.
        heading: see `Captioned`.
        notes: see `Captioned`.
    """
    weights = np.asarray(caption.weights)
    words = len(caption.tokens) - caption.finished
    sampled = bool(np.isin(weights, (0, 1)).all())
    return Captioned(image, caption.tokens[:words], weights[:words], sampled, heading, notes)


def caption_sheet(captions: Sequence[Captioned], *, title: str = "") -> Figure:
    """Draws where a captioner looked while it wrote, word by word, as figure 2 of Xu et al. 2015 does.

    Of each caption the image comes first, then a panel for each word with its map over the image: the
    brighter, the more of it was read. Each panel's brightness runs from nothing to its own largest weight.

    Args:
        captions: of different images, or of one image by different models, with any sizes and grids.
        title: stands above all.

    Raises:
        ValueError: there is no caption, weights do not fit words, or a value is out of its range.
    """
    if not captions:
        raise ValueError("a sheet of captions needs at least one, got none")
    blocks = [_block(caption) for caption in captions]
    wide = max(block.width for block in blocks)

    def heights(columns: int) -> list[float]:
        starts = range(0, len(blocks), columns)
        return [max(block.height for block in blocks[start : start + columns]) for start in starts]

    def longer_side(columns: int) -> float:
        return max(columns * (wide + _GAP), sum(height + _GAP for height in heights(columns)))

    columns = min(range(1, len(blocks) + 1), key=longer_side)
    across = columns * (wide + _GAP) - _GAP + 2 * _MARGIN
    title = fitted(title, _TITLE_FONT, across - 2 * _MARGIN)
    top = _MARGIN + (_TITLE if title else 0)
    rows = heights(columns)
    page = Page(across, top + sum(rows) + _GAP * (len(rows) - 1) + _MARGIN)
    # One system of axes, in inches: axes of their own for each of some hundred panels would take seconds.
    axes = page.axes(0, 0, page.across, page.down)
    axes.set(xlim=(0, page.across), ylim=(page.down, 0))
    axes.set_axis_off()
    _write(axes, title, _MARGIN, _MARGIN, fontsize=_TITLE_FONT)
    for row, height in enumerate(rows):
        for column, block in enumerate(blocks[row * columns : (row + 1) * columns]):
            _draw(axes, block, _MARGIN + column * (wide + _GAP), top)
        top += height + _GAP
    return page.figure


def smoothed(weights: Array, height: int, width: int) -> Array:
    """A grid's weights as a smooth map: the mean of all cells under a Gaussian around each pixel.

    Cell (i, j) covers i/h to (i+1)/h of the image's height and j/w to (j+1)/w of its width, and its weight
    stands in its centre. Equal weights stay equal, at the edges, too.

    Args:
        weights: `(h, w)`.
        height: pixels of the map.
        width: pixels of the map.

    Returns:
        `(height, width)`, between the least and the largest weight.
    """
    down, along = _gaussians(weights.shape[0], height), _gaussians(weights.shape[1], width)
    found: Array = down @ weights @ along.T
    return found


def _gaussians(cells: int, pixels: int) -> Array:
    """`(pixels, cells)`: the weight of each cell in each pixel's mean, in one direction."""
    places = (np.arange(pixels) + 0.5) / pixels * cells
    distances = places[:, None] - (np.arange(cells) + 0.5)
    spread = _SPREAD * max(1.0, cells / pixels)  # fewer pixels than cells must still see all of them
    exponents = -((distances / spread) ** 2) / 2
    near = np.exp(exponents - exponents.max(1, keepdims=True))
    found: Array = near / near.sum(1, keepdims=True)
    return found


class _Block(NamedTuple):
    """A caption as it is drawn: the image, and beside it `per_row` words in a row."""

    caption: Captioned  # with prepared image and weights, and shortened texts
    per_row: int
    size: tuple[float, float]  # width and height of an image
    pitch: float  # from panel to panel
    top: float  # height of the lines above
    width: float
    height: float


def _block(caption: Captioned) -> _Block:
    """Checks a caption and prepares it."""
    image, weights = image_pixels(caption.image), np.asarray(caption.weights, dtype=np.float64)
    count = len(caption.words)
    if weights.ndim != 3 or len(weights) != count or 0 in weights.shape[1:]:
        raise ValueError(
            f"weights need one grid for each word, the shape (T, h, w): got {count} words and weights of"
            f" shape {weights.shape}"
        )
    require_range("weights", weights, 0, 1)
    high, wide = image.shape[:2]
    scale = _IMAGE / max(high, wide)
    size = (wide * scale, high * scale)
    pitch = max(size[0], _LEAST) + _BETWEEN
    rows = max(1, math.ceil(count / _WORDS))
    per_row = math.ceil(count / rows)
    panels = pitch * (1 + per_row) - _BETWEEN
    heading = fitted(caption.heading, _HEADING_FONT, max(panels, _LINE))
    notes = [fitted(note, _NOTE_FONT, max(panels, _LINE)) for note in caption.notes]
    words = [fitted(word, _WORD_FONT, pitch - _BETWEEN) for word in caption.words]
    top = (_HEADING if heading else 0) + len(notes) * _NOTE
    return _Block(
        Captioned(image, words, weights, caption.sampled, heading, notes),
        per_row,
        size,
        pitch,
        top,
        width=max(
            panels, padded_width(heading, _HEADING_FONT), *(padded_width(note, _NOTE_FONT) for note in notes)
        ),
        height=top + rows * (_WORD + size[1] + _BETWEEN) - _BETWEEN,
    )


def _draw(axes: Axes, block: _Block, left: float, top: float) -> None:
    """One caption, its upper left corner at this place."""
    caption, (wide, high) = block.caption, block.size
    _write(axes, caption.heading, left, top, fontsize=_HEADING_FONT)
    for number, note in enumerate(reversed(caption.notes), start=1):
        _write(axes, note, left, top + block.top - number * _NOTE, fontsize=_NOTE_FONT, color="0.35")
    top += block.top

    def show_image(column: int, row: int) -> tuple[float, float]:
        """Draws the image in a panel and returns its upper left corner."""
        x = left + column * block.pitch + (block.pitch - _BETWEEN - wide) / 2
        y = top + _WORD + row * (_WORD + high + _BETWEEN)
        show_pixels(axes, caption.image, x, y, wide, high)
        _frame(axes, x, y, wide, high, edgecolor=_RIM, linewidth=0.6)
        return x, y

    show_image(0, 0)
    for number, (word, weights) in enumerate(zip(caption.words, caption.weights, strict=True)):
        row, column = divmod(number, block.per_row)
        x, y = show_image(1 + column, row)
        show_pixels(axes, _cover(weights, block), x, y, wide, high)
        if caption.sampled:
            cell_wide, cell_high = wide / weights.shape[1], high / weights.shape[0]
            for i, j in np.argwhere(weights > 0).tolist():
                corner = x + j * cell_wide, y + i * cell_high
                _frame(axes, *corner, cell_wide, cell_high, edgecolor=_CELL, linewidth=1.2)
        style: dict[str, Any] = {"ha": "center", "va": "baseline", "fontsize": _WORD_FONT}
        _write(axes, word, x + wide / 2, y - 0.07, **style)


def _cover(weights: Array, block: _Block) -> Array:
    """`(.., .., 4)` in [0, 1]: the image's cover, white where most was read and black where nothing was."""
    if not block.caption.sampled:
        wide, high = (max(1, round(side * DPI)) for side in block.size)
        weights = smoothed(weights, high, wide)
    most = weights.max()
    read = weights / most if most > 0 else weights
    opacity = _COVER[0] + (_COVER[1] - _COVER[0]) * read
    return np.stack([read, read, read, opacity], -1).clip(0, 1)


def _frame(axes: Axes, left: float, top: float, wide: float, high: float, **style: Any) -> None:
    axes.add_artist(Rectangle((left, top), wide, high, fill=False, **style))


def _write(axes: Axes, text: str, left: float, top: float, **style: Any) -> None:
    if text:
        axes.text(left, top, text, **text_style(**{"va": "top", **style}))
