"""Images on canvases, and the random numbers that place them."""

from collections.abc import Iterator

import numpy as np
import pytest

from data.core.keyed_random import Draws, Keys, keys
from data.images.canvas import Canvas, Cluttered, Scaled, Translated
from data.images.image_set import Pixels

WORD = 2**64 - 1


def stream(state: int) -> Iterator[int]:
    """SplitMix64 in plain integers."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & WORD
        mixed = state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & WORD
        yield mixed ^ (mixed >> 31)


def pictures(count: int, channels: int = 1, height: int = 6, width: int = 5) -> Pixels:
    return np.random.default_rng(0).integers(1, 256, (count, channels, height, width), dtype=np.uint8)


def naive(canvas: Translated, image: Pixels, key: int, training: Pixels) -> Pixels:
    """Places one image, pixel by pixel."""
    numbers = stream(key)

    def below(bound: int) -> int:
        return (next(numbers) >> 32) * bound >> 32

    placed = np.zeros((len(image), canvas.height, canvas.width), dtype=int)
    channels, height, width = image.shape
    top, left = below(canvas.height - height + 1), below(canvas.width - width + 1)
    for c, y, x in np.ndindex(channels, height, width):
        placed[c, top + y, left + x] = image[c, y, x]
    for _ in range(getattr(canvas, "pieces", 0)):
        size = canvas.piece_size  # type: ignore[attr-defined]
        from_top, from_left = below(height - size + 1), below(width - size + 1)
        other = training[below(len(training))]
        top, left = below(canvas.height - size + 1), below(canvas.width - size + 1)
        for c, y, x in np.ndindex(channels, size, size):
            value = placed[c, top + y, left + x] + other[c, from_top + y, from_left + x]
            placed[c, top + y, left + x] = min(value, 255)
    return placed.astype(np.uint8)


def test_random_numbers_are_the_published_ones() -> None:
    draws = Draws(np.array([1234567, 0], dtype=np.uint64))
    drawn = [draws.below(2**32).tolist() for _ in range(3)]
    published = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    assert [first for first, _ in drawn] == [number >> 32 for number in published]
    plain = stream(0)
    assert [second for _, second in drawn] == [next(plain) >> 32 for _ in range(3)]


def test_keys_depend_on_every_number_and_its_place() -> None:
    made = [keys(*numbers, np.arange(50)) for numbers in ((1, 0), (0, 1), (0, 0), (1, 1), (2**32 - 1, 7))]
    assert len(np.unique(np.concatenate(made))) == 250
    assert keys(1, 0, np.arange(50))[7] == keys(1, 0, np.array([7]))[0] == keys(1, 0, 7)[0]


def test_random_numbers_are_spread_evenly() -> None:
    draws = Draws(keys(3, np.arange(20_000)))
    one, other = draws.below(7), draws.below(7)
    counts = np.bincount(7 * one + other, minlength=49)
    assert np.abs(counts - 20_000 / 49).max() < 90  # four and a half sigma


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "canvas",
    [Translated(size=9), Translated(size=6), Cluttered(size=9, pieces=5, piece_size=4)],
    ids=["translated", "tight", "cluttered"],
)
def test_a_batch_is_placed_as_pixel_by_pixel(canvas: Translated, channels: int) -> None:
    images, training = pictures(40, channels), pictures(7, channels)[:, :, ::-1]
    chosen = keys(1, np.arange(40))
    before = images.copy(), training.copy(), chosen.copy()
    placed = canvas.place(images, chosen, training)
    assert placed.dtype == np.uint8
    assert placed.shape == (40, channels, canvas.height, canvas.width)
    for found, image, key in zip(placed, images, chosen.tolist(), strict=True):
        assert (found == naive(canvas, image, key, training)).all()
    for kept, given in zip(before, (images, training, chosen), strict=True):
        assert (kept == given).all()


@pytest.mark.parametrize("canvas", [Translated(size=12), Cluttered(size=12, piece_size=5), Scaled(size=12)])
def test_an_image_depends_on_its_key_alone(canvas: Canvas) -> None:
    images, chosen = pictures(20), keys(1, np.arange(20))
    whole = canvas.place(images, chosen, images)
    some = np.array([3, 19, 4])
    assert (canvas.place(images[some], chosen[some], images) == whole[some]).all()
    assert (canvas.place(images, keys(2, np.arange(20)), images) != whole).any()


def test_every_place_is_as_likely_as_any_other_and_whole_inside() -> None:
    images = np.full((4_000, 1, 6, 5), 9, dtype=np.uint8)
    placed = Translated(size=9).place(images, keys(1, np.arange(4_000)), images)
    assert (placed.sum(axis=(1, 2, 3)) == 9 * 30).all()
    tops, lefts = (placed[:, 0].max(axis=axis).argmax(axis=1) for axis in (2, 1))
    counts = np.bincount(5 * tops + lefts, minlength=20)
    assert len(counts) == 20
    assert np.abs(counts - 200).max() < 65  # four and a half sigma


def test_every_size_is_as_likely_as_any_other_and_whole_inside() -> None:
    images = np.full((4_000, 1, 20, 16), 255, dtype=np.uint8)
    placed = Scaled(size=40, smallest=0.5, largest=2.0).place(images, keys(1, np.arange(4_000)), images)
    heights, widths = (placed[:, 0].sum(axis=axis, dtype=int).max(axis=1) / 255 for axis in (1, 2))
    np.testing.assert_allclose(heights / 20, widths / 16, atol=0.05)
    assert (heights.min(), heights.max()) == (pytest.approx(10, abs=0.2), pytest.approx(40, abs=0.6))
    assert heights.mean() == pytest.approx(25, abs=0.6)  # four and a half sigma
    np.testing.assert_allclose(placed.sum(axis=(1, 2, 3)) / 255, heights * widths, rtol=0.02)
    middles = (placed[:, 0] * np.arange(40)).sum(axis=(1, 2)) / placed.sum(axis=(1, 2, 3))
    assert middles.mean() == pytest.approx(19.5, abs=0.7)
    assert middles.std() > 4


def test_an_image_at_its_own_size_is_what_it_was() -> None:
    images = pictures(20, 3, 12, 12)
    assert (
        Scaled(size=12, smallest=1.0, largest=1.0).place(images, keys(1, np.arange(20)), images) == images
    ).all()


def test_clutter_is_added_up_to_white() -> None:
    images, training = np.full((30, 1, 8, 8), 200, np.uint8), np.full((3, 1, 8, 8), 100, np.uint8)
    chosen: Keys = keys(1, np.arange(30))
    placed = Cluttered(size=8, pieces=3, piece_size=4).place(images, chosen, training)
    assert set(np.unique(placed)) == {200, 255}
    apart = Cluttered(size=40, pieces=3, piece_size=4).place(images, chosen, training)
    assert {0, 100, 200, 255} >= set(np.unique(apart)) > {0, 200}


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"size must be at least 28, got 20: .* 28 x 12 pixels"):
        Translated(size=20).check_room(28, 12)
    with pytest.raises(ValueError, match=r"size must be at least 42, got 41: .* up to largest=1.5 times"):
        Scaled(size=41).check_room(28, 12)
    Scaled(size=42).check_room(28, 12)
    for smallest in (0.0, 1.6):
        with pytest.raises(
            ValueError, match=f"smallest must be above 0 and at most largest=1.5, got {smallest}"
        ):
            Scaled(smallest=smallest)
    with pytest.raises(ValueError, match=r"smallest must be at least 0.0833, got 0.08: .* 28 x 12 pixels"):
        Scaled(size=60, smallest=0.08).check_room(28, 12)
    with pytest.raises(ValueError, match=r"piece_size must be at most 12, got 13: .* 28 x 12 pixels"):
        Cluttered(size=60, piece_size=13).check_room(28, 12)
    Cluttered(size=28, piece_size=12).check_room(28, 12)
    for name in ("pieces", "piece_size"):
        with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
            Cluttered(**{name: 0})
