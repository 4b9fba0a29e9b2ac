"""What a captioner looked at: for each word that it wrote, its attention over the image."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from zoo.figures.checks import within
from zoo.figures.labels import families, fitted, room

Array = np.ndarray[Any, np.dtype[Any]]

# All lengths in inches, all fonts in points.
_IMAGE = 1.5  # longer side of an image
_LEAST = 0.6  # shorter side of a panel, at least: words must be read over narrow images, too
_BETWEEN = 0.08  # between panels
_WORD = 0.24  # height of a word
_HEADING, _NOTE = 0.28, 0.22  # heights of the lines above a caption
_LINE = 7.0  # width that these lines may take, however few words there are
_MARGIN = 0.25
_GAP = 0.35  # between captions
_TITLE = 0.45
_DPI = 120
_PIXELS = 2900  # of a whole figure's longer side, at most
_WORDS = 8  # in a row

_TITLE_FONT = 13.0
_HEADING_FONT = 11.0
_NOTE_FONT = 9.0
_WORD_FONT = 10.0

_GREYS = Normalize(0.0, 1.0)
_SPREAD = 0.5  # cells: standard deviation of the Gaussian that smooths a map
_CELL = "#E69F00"  # of a cell's frame: seen on bright and on dark
_RIM = "0.75"  # of an image's frame: white ones have borders, too
# How much the map covers of the image, where nothing and where most was read: what was read must be seen.
_COVER = (0.65, 0.45)


class Captioned(NamedTuple):
    """An image, its caption, and where each word looked.

    Attributes:
        image: `(C, H, W)` in [0, 1], grey or red, green and blue.
        words: T of them, in order.
        weights: `(T, h, w)` in [0, 1]: a grid over the whole image, cells of any shape.
        sampled: whether single cells were read, which are then drawn as they are; else maps are smoothed.
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
    """A caption as it is to be drawn: without EOS, and by cells where nothing but whole cells was read.

    Args:
        image: see `Captioned`.
        caption: what was written, with weights.
        heading: see `Captioned`.
        notes: see `Captioned`.
    """
    weights = np.asarray(caption.weights)
    words = len(caption.tokens) - caption.finished
    sampled = bool(np.isin(weights, (0, 1)).all())
    return Captioned(image, caption.tokens[:words], weights[:words], sampled, heading, notes)


def caption_overlay(
    image: ArrayLike, words: Sequence[str], weights: ArrayLike, *, sampled: bool, title: str = ""
) -> Figure:
    """Draws where a captioner looked while it wrote, word by word, as figure 2 of Xu et al. 2015 does.

    The image comes first, then a panel for each word with its map over the image: the brighter, the more of
    it was read. Each panel's brightness runs from nothing to its own largest weight.

    Args:
        image: see `Captioned`.
        words: see `Captioned`.
        weights: see `Captioned`.
        sampled: see `Captioned`.
        title: stands above.

    Raises:
        ValueError: weights do not fit the words, or something is out of its range.
    """
    return caption_sheet([Captioned(image, words, weights, sampled, heading=title)])


def caption_sheet(captions: Sequence[Captioned], *, title: str = "") -> Figure:
    """Draws several captions on one figure, as `caption_overlay` draws one.

    Args:
        captions: of different images, or of one image by different models; each has its own size and grid.
        title: stands above all.

    Raises:
        ValueError: there is none, weights do not fit words, or something is out of its range.
    """
    if not captions:
        raise ValueError("a sheet of captions needs at least one, got none")
    blocks = [_block(caption) for caption in captions]
    columns = _columns(blocks)
    rows = [blocks[start : start + columns] for start in range(0, len(blocks), columns)]
    wide, heights = max(block.width for block in blocks), [max(one.height for one in row) for row in rows]
    across = columns * (wide + _GAP) - _GAP + 2 * _MARGIN
    title = fitted(title, _TITLE_FONT, across - 2 * _MARGIN)
    top = _MARGIN + (_TITLE if title else 0)
    down = top + sum(heights) + _GAP * (len(rows) - 1) + _MARGIN
    figure = Figure(figsize=(across, down), dpi=min(_DPI, _PIXELS / max(across, down)), facecolor="white")
    # One system of axes, in inches from the upper left corner: axes of their own for each of some hundred
    # panels would take seconds.
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, across)
    axes.set_ylim(down, 0)
    axes.set_axis_off()
    _write(axes, title, _MARGIN, _MARGIN, fontsize=_TITLE_FONT)
    for row, height in zip(rows, heights, strict=True):
        for number, block in enumerate(row):
            _draw(axes, block, _MARGIN + number * (wide + _GAP), top)
        top += height + _GAP
    return figure


def smoothed(weights: Array, height: int, width: int) -> Array:
    """A grid's weights as a smooth map: the mean of all cells under a Gaussian around each pixel.

    Cell (i, j) lies where it lies in the image: between i/h and (i+1)/h of its height, j/w and (j+1)/w of its
    width. Its weight is thought to be in its centre. Equal weights stay equal, at the edges, too.

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
    """`(pixels, cells)`: how much each pixel takes of each cell, in one direction."""
    places = (np.arange(pixels) + 0.5) / pixels * cells
    distances = places[:, None] - (np.arange(cells) + 0.5)
    spread = _SPREAD * max(1.0, cells / pixels)  # fewer pixels than cells must still see all of them
    exponents = -((distances / spread) ** 2) / 2
    near = np.exp(exponents - exponents.max(1, keepdims=True))
    found: Array = near / near.sum(1, keepdims=True)
    return found


class _Block(NamedTuple):
    """A caption as it is drawn: the image, `per_row` words in a row beside it."""

    image: Array
    words: list[str]
    weights: Array
    sampled: bool
    heading: str
    notes: list[str]
    per_row: int
    size: tuple[float, float]  # of an image, across and down
    pitch: float  # from panel to panel
    top: float  # height of the lines above
    width: float
    height: float


def _block(caption: Captioned) -> _Block:
    """Checks a caption and prepares it."""
    image, weights = np.asarray(caption.image), np.asarray(caption.weights, dtype=np.float64)
    if image.ndim != 3 or image.shape[0] not in (1, 3) or not image.size:
        raise ValueError(f"an image needs the shape (C, H, W) with C 1 or 3, got {image.shape}")
    count = len(caption.words)
    if weights.ndim != 3 or len(weights) != count or 0 in weights.shape[1:]:
        raise ValueError(
            f"weights need one grid for each word, the shape (T, h, w): got {count} words and weights of"
            f" shape {weights.shape}"
        )
    within("image", image, 0, 1)
    within("weights", weights, 0, 1)
    _, high, wide = image.shape
    scale = _IMAGE / max(high, wide)
    size = (wide * scale, high * scale)
    pitch = max(size[0], _LEAST) + _BETWEEN
    rows = max(1, math.ceil(count / _WORDS))
    per_row = math.ceil(count / rows)
    panels = pitch * (1 + per_row) - _BETWEEN
    lines = [(caption.heading, _HEADING_FONT), *((note, _NOTE_FONT) for note in caption.notes)]
    heading, *notes = (fitted(text, points, max(panels, _LINE)) for text, points in lines)
    across = max(panels, room(heading, _HEADING_FONT), *(room(note, _NOTE_FONT) for note in notes))
    top = (_HEADING if heading else 0) + len(notes) * _NOTE
    return _Block(
        image[0] if len(image) == 1 else np.moveaxis(image, 0, -1),
        [fitted(word, _WORD_FONT, pitch - _BETWEEN) for word in caption.words],
        weights,
        caption.sampled,
        heading,
        notes,
        per_row,
        size,
        pitch,
        top,
        width=across,
        height=top + rows * (_WORD + size[1] + _BETWEEN) - _BETWEEN,
    )


def _columns(blocks: Sequence[_Block]) -> int:
    """As many as make the sheet's longer side the shortest."""

    def longer(columns: int) -> float:
        rows = [blocks[start : start + columns] for start in range(0, len(blocks), columns)]
        down = sum(max(block.height for block in row) + _GAP for row in rows)
        return max(columns * (max(block.width for block in blocks) + _GAP), down)

    return min(range(1, len(blocks) + 1), key=longer)


def _draw(axes: Axes, block: _Block, left: float, top: float) -> None:
    """One caption, its upper left corner at this place."""
    _write(axes, block.heading, left, top, fontsize=_HEADING_FONT)
    for number, note in enumerate(reversed(block.notes), start=1):
        _write(axes, note, left, top + block.top - number * _NOTE, fontsize=_NOTE_FONT, color="0.35")
    top += block.top
    wide, high = block.size

    def panel(column: int, row: int) -> tuple[float, float]:
        """The upper left corner of an image."""
        from_left = left + column * block.pitch + (block.pitch - _BETWEEN - wide) / 2
        return from_left, top + _WORD + row * (_WORD + high + _BETWEEN)

    _show_image(axes, block, panel(0, 0))
    for number, (word, weights) in enumerate(zip(block.words, block.weights, strict=True)):
        row, column = divmod(number, block.per_row)
        x, y = panel(1 + column, row)
        _show_image(axes, block, (x, y))
        _show(axes, _cover(weights, block), (x, x + wide, y + high, y))
        if block.sampled:
            _frame_cells(axes, weights, (x, y), block.size)
        style: dict[str, Any] = {"ha": "center", "va": "baseline", "fontsize": _WORD_FONT}
        _write(axes, word, x + wide / 2, y - 0.07, **style)


def _cover(weights: Array, block: _Block) -> Array:
    """`(.., .., 4)` in [0, 1]: what covers the image, white where most was read and black where nothing."""
    if not block.sampled:
        wide, high = (max(1, round(side * _DPI)) for side in block.size)
        weights = smoothed(weights, high, wide)
    most = weights.max()
    read = weights / most if most > 0 else weights
    covered = _COVER[0] + (_COVER[1] - _COVER[0]) * read
    return np.stack([read, read, read, covered], -1)


def _frame_cells(axes: Axes, weights: Array, corner: tuple[float, float], size: tuple[float, float]) -> None:
    """A frame around each cell that was read."""
    rows, columns = weights.shape
    wide, high = size[0] / columns, size[1] / rows
    for row, column in np.argwhere(weights > 0).tolist():
        at = (corner[0] + column * wide, corner[1] + row * high)
        axes.add_artist(Rectangle(at, wide, high, fill=False, edgecolor=_CELL, linewidth=1.2))


def _show_image(axes: Axes, block: _Block, corner: tuple[float, float]) -> None:
    (x, y), (wide, high) = corner, block.size
    _show(axes, block.image, (x, x + wide, y + high, y))
    axes.add_artist(Rectangle(corner, wide, high, fill=False, edgecolor=_RIM, linewidth=0.6))


def _show(axes: Axes, pixels: Array, extent: tuple[float, float, float, float]) -> None:
    image = AxesImage(axes, cmap="gray", norm=_GREYS, extent=extent)
    image.set_data(np.clip(pixels, 0, 1))
    axes.add_artist(image)


def _write(axes: Axes, text: str, left: float, top: float, **style: Any) -> None:
    if text:
        given = {"va": "top", "fontfamily": list(families()), "parse_math": False, **style}
        axes.text(left, top, text, **given)
