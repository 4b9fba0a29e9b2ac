"""Captions word by word: maps exactly where they belong on the image, words in order, nothing overlapping."""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from tests.figures.layout import assert_apart, assert_inside, extents
from zoo.figures import Captioned, caption_sheet, captioned, page, png
from zoo.figures.captions import smoothed
from zoo.figures.labels import any_script, fitted, text_width

Array = np.ndarray[Any, np.dtype[Any]]
GRIDS = [(1, 1), (4, 4), (14, 14), (2, 7), (9, 3), (1, 5)]


def cell(grid: tuple[int, int], place: tuple[int, int]) -> Array:
    """A map of which one cell was read."""
    weights = np.zeros(grid)
    weights[place] = 1
    return weights


def described(
    count: int = 5, *, size: tuple[int, int] = (20, 30), channels: int = 3, **given: Any
) -> Captioned:
    """A caption of so many words."""
    generator = np.random.default_rng(count)
    image, weights = generator.random((channels, *size)), generator.random((count, 3, 4))
    words = [f"word{number}" for number in range(count)]
    return Captioned(**{"image": image, "words": words, "weights": weights, "sampled": False, **given})


def drawn(figure: Figure) -> tuple[Axes, list[AxesImage], list[AxesImage]]:
    """The axes, the images, and what covers those behind the first."""
    (axes,) = figure.axes
    covers = [image for image in axes.images if np.asarray(image.get_array()).shape[-1] == 4]
    return axes, [image for image in axes.images if image not in covers], covers


def said(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def seen(figure: Figure) -> Array:
    """`(H, W, 3)`: the figure's pixels, from 0 to 1."""
    canvas = FigureCanvasAgg(figure)
    with any_script():
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(float) / 255


def on_page(
    figure: Figure, extent: tuple[float, float, float, float], at: tuple[float, float]
) -> tuple[int, int]:
    """The pixel (row, column) at a place of an image: shares of its height and width."""
    left, right, bottom, top = extent
    data = (left + at[1] * (right - left), top + at[0] * (bottom - top))
    across, up = figure.axes[0].transData.transform(data)
    return int(figure.bbox.height - up), int(across)


# Maps


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("size", [(56, 56), (37, 90), (100, 23)], ids=str)
def test_the_peak_of_a_map_lies_in_the_cell_that_was_read(
    grid: tuple[int, int], size: tuple[int, int]
) -> None:
    for place in product(*map(range, grid)):
        found = smoothed(cell(grid, place), *size)
        assert found.shape == size
        peak = np.unravel_index(found.argmax(), size)
        for at, index, cells, pixels in zip(peak, place, grid, size, strict=True):
            assert index / cells <= (at + 0.5) / pixels <= (index + 1) / cells


def test_a_map_at_the_middles_of_its_cells_is_the_mean_under_the_gaussian() -> None:
    """By hand, from the definition: pixel (20, 4) of 8 x 8 pixels a cell is nearly the middle of a cell."""
    weights = np.random.default_rng(0).random((5, 3))
    found = smoothed(weights, 45, 27)  # 9 pixels a cell: pixel 9 i + 4 is the middle of cell i
    for row, column in product(range(5), range(3)):
        total = mass = 0.0
        for i, j in product(range(5), range(3)):
            near = math.exp(-((row - i) ** 2 + (column - j) ** 2) / (2 * 0.5**2))
            total, mass = total + near * weights[i, j], mass + near
        assert found[9 * row + 4, 9 * column + 4] == pytest.approx(total / mass)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_equal_weights_stay_equal_and_nothing_is_exceeded(grid: tuple[int, int]) -> None:
    np.testing.assert_allclose(smoothed(np.full(grid, 0.3), 31, 17), 0.3)
    weights = np.random.default_rng(1).random(grid)
    found = smoothed(weights, 31, 17)
    assert weights.min() <= found.min() <= found.max() <= weights.max()
    np.testing.assert_allclose(smoothed(weights[::-1, ::-1], 31, 17), found[::-1, ::-1])
    np.testing.assert_allclose(smoothed(weights.T, 17, 31), found.T)


def test_fewer_pixels_than_cells_still_see_all_of_them() -> None:
    weights = np.zeros((40, 1))
    weights[::4] = 1
    np.testing.assert_allclose(smoothed(weights, 5, 1), 0.25, atol=0.03)
    assert np.isfinite(smoothed(cell((200, 200), (0, 199)), 3, 3)).all()


# One caption


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(("channels", "size"), [(3, (20, 30)), (1, (33, 12)), (3, (8, 8))])
def test_the_image_comes_first_and_every_map_covers_it_exactly(
    channels: int, size: tuple[int, int], sampled: bool
) -> None:
    given = described(size=size, channels=channels)
    figure = caption_sheet([given._replace(sampled=sampled, heading="a title")])
    axes, images, covers = drawn(figure)
    assert said(figure) == ["a title", *given.words]
    assert len(images) == 1 + 5
    assert len(covers) == 5
    expected = given.image[0] if channels == 1 else given.image.transpose(1, 2, 0)
    for image in images:
        np.testing.assert_array_equal(np.asarray(image.get_array()), expected)
        left, right, bottom, top = image.get_extent()
        assert (bottom - top) / (right - left) == pytest.approx(size[0] / size[1])
    assert [image.get_extent() for image in images[1:]] == [cover.get_extent() for cover in covers]
    lefts = [image.get_extent()[0] for image in images]
    assert lefts == sorted(set(lefts))
    for word, image in zip(axes.texts[1:], images[1:], strict=True):
        left, right, _, top = image.get_extent()
        assert word.get_position()[0] == pytest.approx((left + right) / 2)
        assert 0 < top - word.get_position()[1] < 0.2, "right above"


@pytest.mark.parametrize("level", [0.0, 1.0])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(("grid", "size"), [((14, 14), (224, 224)), ((3, 5), (20, 40))])
def test_what_was_read_is_the_brightest_on_the_page(
    grid: tuple[int, int], size: tuple[int, int], sampled: bool, level: float
) -> None:
    """Pixels, of all four corners and of a place within, on black and on white images."""
    last = (grid[0] - 1, grid[1] - 1)
    read = [(0, 0), (0, last[1]), (last[0], 0), last, (1, 2)]
    weights = np.stack([cell(grid, place) for place in read])
    figure = caption_sheet([Captioned(np.full((1, *size), level), list("abcde"), weights, sampled)])
    page = seen(figure).mean(-1)
    _, _, covers = drawn(figure)
    for place, cover in zip(read, covers, strict=True):
        levels = np.array(
            [
                [
                    page[on_page(figure, cover.get_extent(), ((i + 0.5) / grid[0], (j + 0.5) / grid[1]))]
                    for j in range(grid[1])
                ]
                for i in range(grid[0])
            ]
        )
        assert np.unravel_index(levels.argmax(), grid) == place
        others = np.delete(levels, np.ravel_multi_index(place, grid))
        assert levels[place] - others.max() > (0.25 if sampled else 0.1)
        if sampled:
            assert np.ptp(others) < 0.01, "this cell alone"


def test_a_sampled_cell_is_framed_and_fills_its_place() -> None:
    places = [(0, 0), (2, 3), (1, 1)]
    weights = np.stack([cell((3, 4), place) for place in places])
    given = described(3, weights=weights, sampled=True)
    axes, _, covers = drawn(caption_sheet([given]))
    for cover, map_ in zip(covers, weights, strict=True):
        pixels = np.asarray(cover.get_array())
        assert pixels.shape == (3, 4, 4), "cells as they are"
        np.testing.assert_array_equal(pixels[..., 0], map_)
        assert (pixels[map_ == 0, 3] > pixels[map_ == 1, 3]).all(), "what was read can be seen"
    frames = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_linewidth() > 1]
    for frame, cover, (row, column) in zip(frames, covers, places, strict=True):
        left, right, bottom, top = cover.get_extent()
        wide, high = (right - left) / 4, (bottom - top) / 3
        assert (frame.get_x(), frame.get_y()) == pytest.approx((left + column * wide, top + row * high))
        assert (frame.get_width(), frame.get_height()) == pytest.approx((wide, high))


def test_a_panel_is_as_bright_as_its_own_largest_weight_allows() -> None:
    weights = np.stack([cell((4, 4), (1, 1)) * 0.01, np.full((4, 4), 1 / 16), np.zeros((4, 4))])
    _, _, (little, even, nothing) = drawn(caption_sheet([described(3, weights=weights)]))
    assert np.asarray(little.get_array())[..., 0].max() == pytest.approx(1)
    np.testing.assert_allclose(np.asarray(even.get_array())[..., 0], 1, err_msg="no structure out of nothing")
    assert np.asarray(nothing.get_array())[..., 0].max() == 0


def test_no_word_at_all_is_the_image_alone() -> None:
    figure = caption_sheet([Captioned(np.zeros((3, 4, 4)), [], np.zeros((0, 7, 7)), False, "nothing")])
    _, images, covers = drawn(figure)
    assert (len(images), len(covers), said(figure)) == (1, 0, ["nothing"])
    assert png(figure).startswith(b"\x89PNG")


class Written(NamedTuple):
    tokens: list[str]
    finished: bool
    weights: torch.Tensor


def test_what_a_captioner_wrote_is_drawn_without_its_end() -> None:
    soft = torch.rand(3, 2, 2, generator=torch.Generator().manual_seed(0))
    hard = torch.eye(4).view(4, 2, 2)[:3]
    image = torch.zeros(1, 4, 4)
    found = captioned(image, Written(["a", "dog", "</s>"], True, soft), heading="here", notes=["note"])
    assert (found.words, found.heading, found.notes) == (["a", "dog"], "here", ["note"])
    np.testing.assert_array_equal(found.weights, soft[:2])
    cut_off = captioned(image, Written(["a", "dog", "runs"], False, hard))
    assert cut_off.words == ["a", "dog", "runs"]
    assert (found.sampled, cut_off.sampled) == (False, True)
    figure = caption_sheet([found, cut_off])
    assert said(figure) == ["here", "note", "a", "dog", "a", "dog", "runs"]


# Many words, many captions


def boxes(figure: Figure) -> tuple[list[Bbox], list[Bbox]]:
    """Where texts and images are on the page, in pixels."""
    axes, images, _ = drawn(figure)
    texts = extents(figure, axes.texts)
    pictures = []
    for image in images:
        left, right, bottom, top = image.get_extent()
        pictures.append(Bbox(axes.transData.transform([(left, bottom), (right, top)])))
    return texts, pictures


def everything_has_its_place(figure: Figure) -> None:
    texts, pictures = boxes(figure)
    assert_inside(figure, [*texts, *pictures])
    assert_apart([*texts, *pictures])


@pytest.mark.parametrize("words", [1, 8, 9, 25])
def test_many_words_wrap_beside_the_image(words: int) -> None:
    figure = caption_sheet([described(words, heading="h" * 200, notes=["n" * 300, "short"])])
    everything_has_its_place(figure)
    assert said(figure)[3:] == [f"word{number}" for number in range(words)]
    _, (first, *panels), _ = drawn(figure)
    rows = sorted({panel.get_extent()[3] for panel in panels})
    assert len(rows) == math.ceil(words / 8)
    in_rows = [sum(panel.get_extent()[3] == row for panel in panels) for row in rows]
    assert max(in_rows) - min(in_rows) <= len(rows), "no row of a few words below full ones"
    assert first.get_extent()[3] == rows[0]
    assert all(panel.get_extent()[0] > first.get_extent()[1] for panel in panels)
    order = [(panel.get_extent()[3], panel.get_extent()[0]) for panel in panels]
    assert order == sorted(order)


@pytest.mark.parametrize("size", [(300, 10), (10, 300), (1, 1)])
def test_images_of_any_shape_have_room_for_words(size: tuple[int, int]) -> None:
    words = ["Donaudampfschifffahrtsgesellschaft", "WWWWWWWWWWWWWWW", "机器翻译" * 9, "", "$x_2$", "\n"]
    figure = caption_sheet([described(6, size=size, words=words)])
    shown = said(figure)
    assert [word.endswith("…") for word in shown] == [True, True, True, False, False]
    assert shown[3:] == ["$x_2$", "·"], "an empty word is not written"
    assert shown[0].startswith("Don")
    everything_has_its_place(figure)


def test_any_script_is_drawn_without_a_warning() -> None:
    words = ["我", "الترجمة", "नमस्ते", "русский", "👍🏽", "\ud800"]
    figure = caption_sheet([described(6, words=words, heading="日本語 $x$ \\frac\ud800")], title="\n\ud800")
    assert png(figure).startswith(b"\x89PNG")


def test_a_sheet_of_captions_of_several_images_and_models() -> None:
    """Sizes, grids and colours may differ; each stands below its heading and notes."""
    captions = [
        described(4, heading="dog.jpg", notes=["a dog"]),
        described(11, size=(50, 20), channels=1, heading="cat.jpg", notes=["two", "cats"]),
        described(2, weights=np.stack([cell((7, 7), (0, 6))] * 2), sampled=True, heading="hard"),
    ]
    figure = caption_sheet(captions, title="step0000010")
    everything_has_its_place(figure)
    words = [f"word{number}" for number in range(11)]
    expected = ["step0000010", "dog.jpg", "a dog", *words[:4]]
    assert said(figure)[: len(expected)] == expected
    assert sorted(said(figure)) == sorted([*expected, "cat.jpg", "two", "cats", *words, "hard", *words[:2]])
    heights = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
    assert heights["cat.jpg"] < heights["two"] < heights["cats"], "in reading order"


def test_a_large_sheet_stays_a_picture_that_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_PIXELS", 800)
    figure = caption_sheet([described(7, heading=str(number)) for number in range(4)])
    wide, high = figure.get_size_inches() * figure.dpi
    assert max(wide, high) == pytest.approx(800)
    assert 0.4 < wide / high < 2.5


# What cannot be drawn


def spoiled(values: Array, value: float) -> Array:
    values = values.copy()
    values.flat[0] = value
    return values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: {"image": one.image[0]}, r"shape \(C, H, W\) with C 1 or 3, got \(20, 30\)"),
        (lambda one: {"image": one.image[:2]}, r"C 1 or 3, got \(2, 20, 30\)"),
        (lambda one: {"image": one.image[:, :0]}, r"C 1 or 3, got \(3, 0, 30\)"),
        (lambda one: {"image": one.image * 255}, r"image must be in \[0, 1\], got "),
        (lambda one: {"image": spoiled(one.image, math.nan)}, r"image must be in \[0, 1\], got nan"),
        (lambda one: {"words": one.words[1:]}, r"got 4 words and weights of shape \(5, 3, 4\)"),
        (lambda one: {"weights": one.weights[0]}, r"got 5 words and weights of shape \(3, 4\)"),
        (lambda one: {"weights": one.weights[:, :0]}, r"got 5 words and weights of shape \(5, 0, 4\)"),
        (lambda one: {"weights": spoiled(one.weights, math.nan)}, r"weights must be in \[0, 1\], got nan"),
        (lambda one: {"weights": spoiled(one.weights, 1.5)}, r"weights must be in \[0, 1\], got 1.5"),
        (lambda one: {"weights": spoiled(one.weights, -0.5)}, r"weights must be in \[0, 1\], got -0.5"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    one = described()
    with pytest.raises(ValueError, match=message):
        caption_sheet([one, one._replace(**change(one))])


def test_a_sheet_needs_captions() -> None:
    with pytest.raises(ValueError, match="at least one, got none"):
        caption_sheet([])


# Text


@pytest.mark.parametrize(
    "text", ["a window", "WWWWWWWWWWWWWWWWWW", "iiiiiiiiiiiiiiiiiiiiiiii", "机器翻译" * 5]
)
def test_text_is_shortened_by_the_room_that_it_takes(text: str) -> None:
    assert fitted(text, 10, 9) == text
    short = fitted(text, 10, 0.8)
    assert text_width(short, 10) <= 0.8
    assert short == text or (short.endswith("…") and text_width(short, 10) > 0.45)
    assert fitted(text, 10, 0.01) == "…"
    assert fitted("", 10, 0) == ""
