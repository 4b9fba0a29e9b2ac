"""Generated scenes of coloured shapes, each with all of its true captions; nothing is downloaded.

Two or three things of different kinds lie in different cells of a 3 x 3 table, each somewhere in its cell. A
caption names two of them and a relation: `a red circle left of a blue square`. Left of something is what ends
before that begins, which is what lies in a column further left, for two things of one column always overlap;
the same holds for right of, above and below. Every ordered pair and every relation that holds between its
things is a true caption, and there is no other.

No two things of a scene are of one size, and a caption to train on names the largest thing first, then the
next. Without an order no model could know which thing the next word will name, and a decoder that attends
before it reads its last word (Xu et al. 2015) could only attend to all of them.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from data.captions.caption_set import CaptionSet, CaptionSplit, Items, Wanted
from data.core.batching import Part
from data.core.keyed_random import Draws, distinct, keys, split_key
from data.images.image_set import Pixels
from zoo.core.batch import Box, TrueCaptions

COLOURS = {
    "red": (230, 40, 40),
    "green": (40, 190, 60),
    "blue": (60, 90, 240),
    "yellow": (240, 220, 50),
    "purple": (170, 60, 200),
    "white": (245, 245, 245),
}
SHAPES = ("circle", "square", "triangle", "cross")
RELATIONS = ("left of", "right of", "above", "below")

KINDS = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
"""What a thing may be: kind k has colour k // 4 and shape k % 4."""

_CELLS = 3
"""Cells along each side."""

_MOST = 3
"""Things in a scene."""

_SMALLEST_SIZE = 24
"""Pixels: on fewer, shapes are hard to tell apart."""

_HASHED_AT_ONCE = 500
_SENTENCES = [f"a {one} {relation} a {other}" for one in KINDS for relation in RELATIONS for other in KINDS]
"""Every sentence of the grammar; see `_sentence`."""

Ints = NDArray[np.int64]


@dataclass(kw_only=True)
class Shapes(CaptionSet):
    """Generated scenes: those to train on are others in every epoch, the rest are always the same.

    Attributes:
        train: scenes in an epoch.
        validation: scenes.
        test: scenes.
    """

    train: int = 12_800
    validation: int = 1_000
    test: int = 1_000
    name = "shapes"
    knows_truths = True

    def __post_init__(self) -> None:
        for split in ("train", "validation", "test"):
            if getattr(self, split) < 1:
                raise ValueError(f"{split} must be at least 1, got {getattr(self, split)}")

    def check(self, wanted: Wanted) -> None:
        """See `CaptionSet`.

        Raises:
            ValueError: images are too small, or features of scenes should be stored.
        """
        if wanted.encoder:
            raise ValueError("features must be null: scenes are others in every epoch")
        if wanted.image_size < _SMALLEST_SIZE:
            raise ValueError(f"image_size must be at least {_SMALLEST_SIZE}, got {wanted.image_size}")

    def splits(self, wanted: Wanted) -> dict[str, CaptionSplit]:
        """See `CaptionSet`."""
        self.check(wanted)
        counts = {"train": self.train, "val": self.validation, "test": self.test}
        return {
            split: Scenes(split, count, wanted.image_size, key=split_key(split, wanted.seed))
            for split, count in counts.items()
        }


class _Layout(NamedTuple):
    """What is where in B scenes of at most M things; of things that are not there, anything.

    Attributes:
        there: `(B, M)` boolean.
        kinds: `(B, M)`.
        rows, columns: `(B, M)`, the cells.
        tops, lefts, sizes: `(B, M)` pixels.
        shades: `(B, M)`, brightness in 256ths.
        ground: `(B,)`, the grey of the background.
        chosen: `(B,)`, a random number, from 0 to 2**16, that chooses a relation to tell.
    """

    there: NDArray[np.bool_]
    kinds: Ints
    rows: Ints
    columns: Ints
    tops: Ints
    lefts: Ints
    sizes: Ints
    shades: Ints
    ground: Ints
    chosen: Ints


class Scenes(CaptionSplit):
    """Scenes of one split: functions of their key alone, whatever batch, worker or process makes them."""

    sentences = _SENTENCES

    def __init__(self, split: str, count: int, size: int, *, key: tuple[int, int]) -> None:
        """Makes the pictures of all shapes.

        Args:
            split: its name.
            count: of the scenes.
            size: pixels along each side.
            key: begins the keys of the random numbers.
        """
        self._split, self._count, self._size, self._key = split, count, size, key
        self._cell = size // _CELLS
        # (0.945 / 3) ** 2: the largest box is 10 % of the image
        self._sizes = (np.array([0.57, 0.76, 0.945]) * self._cell).astype(np.int64)
        largest = int(self._sizes[-1])
        self._stamps = np.stack(
            [np.stack([_stamp(shape, int(size), largest) for size in self._sizes]) for shape in SHAPES]
        )

    def __len__(self) -> int:
        return self._count

    @property
    def images(self) -> NDArray[np.int64]:
        """See `CaptionSplit`: there are as many as items."""
        return np.arange(self._count)

    def items(self, chosen: Part, *, pixels: bool) -> Items:
        """See `CaptionSplit`."""
        layout = self._layout(chosen)
        scenes, one, relation, other = _truths(layout)
        sentences = _sentence(
            np.take_along_axis(layout.kinds[scenes], one[:, None], 1)[:, 0],
            relation,
            np.take_along_axis(layout.kinds[scenes], other[:, None], 1)[:, 0],
        )
        truths = self._described(layout, scenes, one, relation, other, sentences)
        first, second = np.argsort(np.where(layout.there, -layout.sizes, 0), axis=1)[:, :2].T
        trained = np.flatnonzero((one == first[scenes]) & (other == second[scenes]))
        counts = np.bincount(scenes[trained], minlength=len(layout.chosen))
        starts = np.cumsum(counts) - counts
        return Items(
            pixels=self._drawn(layout) if pixels else None,
            features=None,
            sentences=sentences[trained[starts + (layout.chosen * counts >> 16)]],
            references=[list(truth.boxes) for truth in truths],
            names=[f"{self._split} {row}" for row in chosen.rows],
            truths=truths,
        )

    def to_train_on(self, usable: NDArray[np.bool_]) -> "Scenes":
        """See `CaptionSplit`: every scene with a caption of its largest things, drawn anew with it."""
        if not usable.all():
            raise ValueError(f"{(~usable).sum()} of {len(usable)} captions of scenes cannot be trained on")
        return self

    def content_hash(self) -> str:
        """See `CaptionSplit`."""
        digest = hashlib.sha256()
        for items in self._all(pixels=True):
            assert items.pixels is not None
            digest.update(repr((items.pixels.shape, items.references)).encode() + items.pixels.tobytes())
        return digest.hexdigest()

    def references(self) -> list[list[str]]:
        """See `CaptionSplit`; of a training split, those of the first epoch."""
        return [captions for items in self._all(pixels=False) for captions in items.references]

    def _all(self, *, pixels: bool) -> Iterator[Items]:
        for start in range(0, self._count, _HASHED_AT_ONCE):
            rows = np.arange(start, min(start + _HASHED_AT_ONCE, self._count))
            yield self.items(Part(0, rows), pixels=pixels)

    def _layout(self, chosen: Part) -> _Layout:
        draws = Draws(keys(*self._key, chosen.epoch, chosen.rows))
        number = 2 + draws.below(_MOST - 1)
        kinds = distinct(draws, len(KINDS), _MOST)
        cells = distinct(draws, _CELLS * _CELLS, _MOST)
        rows, columns = np.divmod(cells, _CELLS)

        def drawn(bound: int) -> Ints:
            return np.column_stack([draws.below(bound) for _ in range(_MOST)])

        sizes = self._sizes[distinct(draws, len(self._sizes), _MOST)]
        room = self._cell - sizes + 1
        return _Layout(
            there=np.arange(_MOST) < number[:, None],
            kinds=kinds,
            rows=rows,
            columns=columns,
            tops=rows * self._cell + (drawn(2**16) * room >> 16),
            lefts=columns * self._cell + (drawn(2**16) * room >> 16),
            sizes=sizes,
            shades=200 + drawn(57),
            ground=draws.below(64),
            chosen=draws.below(2**16),
        )

    def _drawn(self, layout: _Layout) -> Pixels:
        """`(B, 3, H, W)`."""
        largest = int(self._sizes[-1])
        side = self._size + largest  # stamps are as large as the largest thing, and may reach beyond the edge
        canvas = np.empty((len(layout.ground), 3, side, side), dtype=np.uint8)
        canvas[:] = layout.ground[:, None, None, None]
        windows = sliding_window_view(canvas, (largest, largest), axis=(2, 3), writeable=True)
        palette = np.array(list(COLOURS.values()))
        scenes = np.arange(len(canvas))
        for thing in range(_MOST):
            colour, shape = np.divmod(layout.kinds[:, thing], len(SHAPES))
            paint = (palette[colour] * layout.shades[:, thing, None] >> 8).astype(np.uint8)
            covered = self._stamps[shape, np.searchsorted(self._sizes, layout.sizes[:, thing])]
            covered = (covered & layout.there[:, thing, None, None])[:, None]
            place = (scenes, slice(None), layout.tops[:, thing], layout.lefts[:, thing])
            windows[place] = np.where(covered, paint[:, :, None, None], windows[place])
        return np.ascontiguousarray(canvas[:, :, : self._size, : self._size])

    def _described(
        self, layout: _Layout, scenes: Ints, one: Ints, relation: Ints, other: Ints, sentences: Ints
    ) -> list[TrueCaptions]:
        """All true captions of each scene, with the box that each word names."""
        corners = np.stack(
            [layout.lefts, layout.tops, layout.lefts + layout.sizes, layout.tops + layout.sizes], axis=2
        )
        boxes: list[list[Box]] = [
            [tuple(box) for box in things] for things in (corners / self._size).tolist()
        ]
        found: list[dict[str, list[Box | None]]] = [{} for _ in boxes]
        for scene, i, r, j, sentence in zip(
            *(numbers.tolist() for numbers in (scenes, one, relation, other, sentences)), strict=True
        ):
            first, second = boxes[scene][i], boxes[scene][j]
            between: list[Box | None] = [None] * _BETWEEN[r]
            found[scene][_SENTENCES[sentence]] = [None, first, first, *between, second, second]
        return [TrueCaptions(captions) for captions in found]


_BETWEEN = [len(relation.split()) + 1 for relation in RELATIONS]
"""Words between the two things: the relation and an article."""


def _sentence(one: Ints, relation: Ints, other: Ints) -> Ints:
    """The number of a sentence among all."""
    return (one * len(RELATIONS) + relation) * len(KINDS) + other


def _truths(layout: _Layout) -> tuple[Ints, Ints, Ints, Ints]:
    """Scene, first thing, relation and second thing of all true captions, those of a scene side by side."""
    across = layout.columns[:, :, None] - layout.columns[:, None, :]
    down = layout.rows[:, :, None] - layout.rows[:, None, :]
    holds = np.stack([across < 0, across > 0, down < 0, down > 0], axis=2)
    both = layout.there[:, :, None] & layout.there[:, None, :]
    scenes, one, relation, other = np.nonzero(holds & both[:, :, None, :])
    return scenes, one, relation, other


def _stamp(shape: str, size: int, largest: int) -> NDArray[np.bool_]:
    """`(largest, largest)`, which pixels a thing of `size` pixels covers, in the upper left corner."""
    down, across = np.ogrid[:largest, :largest]
    # Twice the distance from the middle, in whole numbers: the same on every machine.
    y, x = 2 * down + 1 - size, 2 * across + 1 - size
    covered: NDArray[np.bool_] = {
        "circle": x * x + y * y <= size * size,
        "square": (abs(x) < size) & (abs(y) < size),
        "triangle": (2 * abs(x) <= y + size + 1) & (y < size),
        "cross": (3 * np.minimum(abs(x), abs(y)) < size) & (np.maximum(abs(x), abs(y)) < size),
    }[shape]
    covered &= (down < size) & (across < size)
    return covered
