"""Sheets of glimpses: boxes on the pixels that the sensor read, everything said, nothing overlapping."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle
from torch import Tensor

from tests.figures.layout import assert_apart, assert_inside, extents
from zoo.attention import GlimpseSensor
from zoo.figures import glimpse_sheet, labels, png
from zoo.figures.glimpse_boxes import boxes, places
from zoo.tasks.recognition.glimpse_path import GlimpsePath

BORDERS = [(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (0.5, -0.25), (1 / 3, -1 / 7)]


def looked(
    *, height: int = 12, width: int = 9, channels: int = 1, steps: int = 3, scales: int = 2, size: int = 4
) -> GlimpsePath:
    generator = torch.Generator().manual_seed(height + steps)
    image = torch.rand(channels, height, width, generator=generator)
    locations = torch.rand(steps, 2, generator=generator) * 2 - 1
    sensor = GlimpseSensor(size=size, scales=scales)
    return GlimpsePath(image, locations, sensor(sensor.prepare(image), locations), "7", "7", 0.984)


def patches(axes: Axes, kind: type) -> list:  # type: ignore[type-arg]
    return [patch for patch in axes.patches if type(patch) is kind]


def said(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("size", [1, 4, 5])
@pytest.mark.parametrize(("height", "width"), [(9, 9), (12, 7), (6, 11)])
def test_a_box_holds_exactly_the_pixels_that_the_sensor_read(size: int, height: int, width: int) -> None:
    """Every pixel has a channel of its own, so that glimpses tell how often each was read."""
    generator = torch.Generator().manual_seed(size)
    # Where rounding decides: the rims and the middles of pixels.
    halves = [
        (2 * x / (2 * width) - 1, 2 * y / (2 * height) - 1) for x, y in ((3, 3), (4, 4), (5, 8), (1, 6))
    ]
    locations = torch.cat([torch.tensor(BORDERS + halves), torch.rand(20, 2, generator=generator) * 2 - 1])
    sensor = GlimpseSensor(size=size, scales=3)
    coded = torch.eye(height * width).view(-1, height, width)
    glimpses = sensor(sensor.prepare(coded), locations)  # (Q, k, H W, g, g)
    found = boxes(locations, height, width, size=size, scales=3)
    assert found.shape == (len(locations), 3, 4)
    for query, scale in np.ndindex(len(locations), 3):
        read = (glimpses[query, scale].sum((-1, -2)) * 4**scale).view(height, width)
        left, top, right, bottom = found[query, scale].tolist()
        assert (right - left, bottom - top) == (size * 2**scale,) * 2
        expected = torch.zeros(height, width)
        expected[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = 1
        torch.testing.assert_close(read, expected, msg=f"location {locations[query]}, scale {scale}")


def test_half_precision_is_read_as_the_sensor_reads_it() -> None:
    locations = (torch.rand(200, 2, generator=torch.Generator().manual_seed(1)) * 2 - 1).half()
    found = boxes(locations, 300, 401, size=8, scales=2)
    assert np.array_equal(found, boxes(locations.float(), 300, 401, size=8, scales=2))


@pytest.mark.parametrize("channels", [1, 3])
def test_the_image_with_its_path_and_what_was_seen(channels: int) -> None:
    path = looked(channels=channels)
    figure = glimpse_sheet({"right": [path]}, title="run")
    image, seen = figure.axes
    (drawn,) = image.images
    assert tuple(drawn.get_extent()) == (0, 9, 12, 0), "a unit for each pixel"
    expected = path.image[0] if channels == 1 else path.image.movedim(0, -1)
    np.testing.assert_array_equal(np.asarray(drawn.get_array()), expected)

    corners = [
        (*box.get_xy(), box.get_x() + box.get_width(), box.get_y() + box.get_height())
        for box in patches(image, Rectangle)
    ]
    read = boxes(path.locations, 12, 9, size=4, scales=2).reshape(-1, 4)
    assert corners == [tuple(box) for box in read.tolist()]
    (left, right), (bottom, top) = image.get_xlim(), image.get_ylim()
    assert left < read[:, 0].min() <= 0, "nothing is cut off outside of the image"
    assert top < read[:, 1].min()
    assert right > read[:, 2].max()
    assert bottom > read[:, 3].max()

    numbers = [text.get_text() for text in image.texts]
    assert numbers == ["1", "2", "3"]
    assert [text.get_text() for text in seen.texts] == ["1", "2", "3", "4×4", "8×8"]
    assert len(seen.images) == 3 * 2
    for place, glimpse in enumerate(seen.images):
        step, scale = divmod(place, 2)
        given = path.glimpses[step, scale]
        np.testing.assert_array_equal(
            np.asarray(glimpse.get_array()), given[0] if channels == 1 else given.movedim(0, -1)
        )
        assert glimpse.get_clim() == (0, 1)
    lefts = [glimpse.get_extent()[0] for glimpse in seen.images[::2]]
    tops = [glimpse.get_extent()[3] for glimpse in seen.images[:2]]
    assert lefts == sorted(set(lefts)), "a column for each step"
    assert tops == sorted(set(tops)), "a row for each scale"
    assert png(figure).startswith(b"\x89PNG")


def test_arrows_lead_from_place_to_place_in_the_colours_of_the_glimpses() -> None:
    path = looked(height=20, width=30)
    image, seen = glimpse_sheet({"": [path]}).axes
    centres = ((path.locations + 1) / 2 * torch.tensor([30, 20])).tolist()
    np.testing.assert_allclose(places(path.locations, 20, 30), centres, rtol=1e-6)
    arrows = patches(image, FancyArrowPatch)
    assert len(arrows) == 2
    for arrow, here, there in zip(arrows, centres, centres[1:], strict=False):
        np.testing.assert_allclose(arrow._posA_posB, [here, there], rtol=1e-6)
    discs = [[disc.get_facecolor() for disc in patches(axes, Circle)] for axes in (image, seen)]
    assert discs[0] == discs[1]
    assert len(set(discs[0])) == 3
    assert [box.get_edgecolor() for box in patches(image, Rectangle)[::2]] == discs[0]
    assert [box.get_edgecolor() for box in patches(seen, Rectangle)[::2]] == discs[0]
    assert [arrow.get_facecolor() for arrow in arrows] == discs[0][1:]


def test_right_and_wrong_examples_stand_apart() -> None:
    right, wrong = looked(), looked()._replace(prediction="1", probability=0.5)
    figure = glimpse_sheet({"read well": [right, right], "empty": [], "misread": [wrong]}, title="$run")
    assert said(figure) == [
        "$run",
        "read well",
        *["right", "prediction 7 (98.4 %)   truth 7"] * 2,
        "misread",
        "wrong",
        "prediction 1 (50.0 %)   truth 7",
    ]
    assert len(figure.axes) == 2 * 3
    colours = {text.get_text(): to_rgb(text.get_color()) for text in figure.texts}
    # Light enough apart to be told in black and white, too.
    lightness = {word: np.dot(colours[word], (0.299, 0.587, 0.114)) for word in ("right", "wrong")}
    assert lightness["wrong"] - lightness["right"] > 0.08
    heights = [axes.get_position().y0 for axes in figure.axes[::2]]
    assert min(heights[:2]) > heights[2]
    assert len({axes.get_xlim() for axes in figure.axes[::2]}) == 1, "all images have one scale"


def test_a_path_without_a_label() -> None:
    figure = glimpse_sheet({"picture.png": [looked()._replace(label=None)]})
    assert said(figure) == ["picture.png", "prediction 7 (98.4 %)"]


@pytest.mark.parametrize(
    ("paths", "shape"),
    [
        (1, {"height": 28, "width": 28, "steps": 6, "scales": 1, "size": 8}),
        (1, {"height": 60, "width": 60, "steps": 12, "scales": 4, "size": 12}),
        (2, {"height": 40, "width": 20, "steps": 1, "scales": 1, "size": 8, "channels": 3}),
        (8, {"height": 20, "width": 40, "steps": 1, "scales": 1, "size": 7}),
    ],
)
def test_every_text_has_its_place(paths: int, shape: dict[str, int]) -> None:
    """No two overlap, all lie on the figure, and no disc of a number covers another or a finest box."""
    path = looked(**shape)._replace(label="a" * 50, prediction="机器翻译" * 9)
    figure = glimpse_sheet(
        {"right": [path] * (paths // 2), "wrong": [path] * (paths - paths // 2)}, title="r" * 99
    )
    found = extents(figure, [*figure.texts, *(text for axes in figure.axes for text in axes.texts)])
    assert_inside(figure, found)
    assert_apart(found)
    of_figure = found[: len(figure.texts)]
    assert not any(box.overlaps(axes.get_window_extent()) for box in of_figure for axes in figure.axes)
    image = figure.axes[0]
    discs = patches(image, Circle)
    radius = discs[0].get_radius()
    assert all(math.dist(one.center, other.center) > 2 * radius for one, other in combinations(discs, 2))
    for disc in discs:
        for x, y, right, bottom in boxes(path.locations, *path.image.shape[1:], size=shape["size"], scales=1)[
            :, 0
        ]:
            nearest = np.clip(disc.center, (x, y), (right, bottom))
            assert math.dist(disc.center, nearest) > 0.99 * radius


def test_classes_in_a_script_without_a_font_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "_drawable", lambda: frozenset(range(32, 127)))
    figure = glimpse_sheet({"": [looked()._replace(label="犬 a", prediction="猫")]})
    assert r"prediction \u732b (98.4 %)   truth \u72ac a" in said(figure)


def test_what_fonts_here_know_stays_as_it_is() -> None:
    assert labels.legible("Größe, язык") == "Größe, язык"
    assert labels.legible("a\ue8ffb") == r"a\ue8ffb", "a code point of no character"


def test_a_large_sheet_stays_a_picture_that_can_be_opened() -> None:
    path = looked(height=60, width=60, steps=4, scales=2, size=48)
    figure = glimpse_sheet({"right": [path] * 8, "wrong": [path] * 8})
    wide, high = figure.get_size_inches() * figure.dpi
    assert max(wide, high) <= 3000
    assert 0.6 < wide / high < 1.7


def test_twelve_looks_at_one_place_keep_their_numbers_apart() -> None:
    path = looked(steps=12)
    path = path._replace(locations=torch.zeros(12, 2))
    (image, _) = glimpse_sheet({"": [path]}).axes
    discs = patches(image, Circle)
    radius = discs[0].get_radius()
    assert len(discs) == 12
    assert all(math.dist(one.center, other.center) > 2 * radius for one, other in combinations(discs, 2))
    assert not patches(image, FancyArrowPatch), "there is no way to go"


def changed(tensor: Tensor, value: float) -> Tensor:
    tensor = tensor.clone()
    tensor[0, 0] = value
    return tensor


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: {"image": path.image[0]}, r"shape \(C, H, W\) with C 1 or 3, got \(12, 9\)"),
        (lambda path: {"image": path.image * 255}, r"image must be in \[0, 1\], got "),
        (lambda path: {"image": changed(path.image, math.nan)}, r"image must be in \[0, 1\], got nan"),
        (lambda path: {"locations": path.locations[:0]}, r"\(T, 2\) with T at least 1, got \(0, 2\)"),
        (lambda path: {"locations": changed(path.locations, math.nan)}, r"locations .* \[-1, 1\], got nan"),
        (lambda path: {"locations": changed(path.locations, -1.5)}, r"locations .* \[-1, 1\], got -1.5"),
        (lambda path: {"glimpses": path.glimpses[1:]}, r"T=3 and C=1, got \(2, 2, 1, 4, 4\)"),
        (lambda path: {"glimpses": path.glimpses[..., 1:]}, r"T=3 and C=1, got \(3, 2, 1, 4, 3\)"),
        (lambda path: {"glimpses": changed(path.glimpses, math.inf)}, r"glimpses must .* got inf"),
        (lambda path: {"probability": math.nan}, r"probability must be in \[0, 1\], got nan"),
        (lambda path: {"probability": 98.4}, r"probability must be in \[0, 1\], got 98.4"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    path = looked()
    with pytest.raises(ValueError, match=message):
        glimpse_sheet({"right": [path, path._replace(**change(path))]})


def test_a_sheet_needs_paths_of_one_agent() -> None:
    for groups in ({}, {"right": [], "wrong": []}):
        with pytest.raises(ValueError, match="at least one path, got none"):
            glimpse_sheet(groups)
    with pytest.raises(ValueError, match=r"image of one shape, got \(12, 9\) and \(10, 9\)"):
        glimpse_sheet({"right": [looked()], "wrong": [looked(height=10)]})
    with pytest.raises(ValueError, match=r"glimpses of one shape, got \(3, 2, 4, 4\) and \(4, 2, 4, 4\)"):
        glimpse_sheet({"right": [looked()], "wrong": [looked(steps=4)]})
