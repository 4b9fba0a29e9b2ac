"""Histograms of locations: shares that sum to 1 in the right place, and how many lie at the border."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.figures.layout import assert_apart, assert_inside, extents, texts
from zoo.figures import location_histogram, png
from zoo.figures.locations import shares

RNG = np.random.default_rng(0)


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.images]


def drawn(axes: Axes) -> np.ndarray:  # type: ignore[type-arg]
    return np.ma.filled(axes.images[0].get_array(), 0.0)


@pytest.mark.parametrize(
    ("height", "width", "cells"), [(28, 28, (28, 28)), (60, 30, (20, 10)), (1, 400, (1, 27))]
)
def test_shares_sum_to_one(height: int, width: int, cells: tuple[int, int]) -> None:
    found = shares(RNG.uniform(-1, 1, (1000, 2)), height, width)
    assert found.shape == cells
    assert found.sum() == pytest.approx(1)


def test_each_place_has_its_cell() -> None:
    """x goes to the right and y down; the outermost edges belong to the image."""
    corners = np.array([[-1.0, -1], [1, -1], [1, -1], [1, 1], [-0.9, 0.3]])
    found = shares(corners, 4, 8) * 5
    expected = np.zeros((4, 8))
    expected[0, 0], expected[0, 7], expected[3, 7], expected[2, 0] = 1, 2, 1, 1
    np.testing.assert_allclose(found, expected)


def test_a_panel_for_each_step_and_one_for_all() -> None:
    locations = RNG.uniform(-0.9, 0.9, (3, 50, 2))
    locations[1, :10, 0] = 1.0
    locations[1, 5:15, 1] = -0.96
    figure = location_histogram(locations, 20, 40, border=0.95)
    found = panels(figure)
    assert [axes.get_title() for axes in found] == [
        "step 1\n0.0 % at the border",
        "step 2\n30.0 % at the border",
        "step 3\n0.0 % at the border",
        "all steps\n10.0 % at the border",
    ]
    for axes, given in zip(found, [*locations, locations.reshape(-1, 2)], strict=True):
        np.testing.assert_allclose(drawn(axes), shares(given, 20, 40))
        assert drawn(axes).sum() == pytest.approx(1)
        assert axes.images[0].get_extent() == [0, 40, 20, 0]
        assert axes.images[0].norm is found[0].images[0].norm, "one scale"
    np.testing.assert_allclose(drawn(found[3]), np.mean([drawn(axes) for axes in found[:3]], 0))
    (bar,) = [axes for axes in figure.axes if not axes.images]
    assert bar.get_ylabel() == "share of images"
    assert png(figure).startswith(b"\x89PNG")


def test_one_look_in_all_has_a_colour_of_its_own() -> None:
    locations = np.zeros((6, 1000, 2))
    locations[3, 0] = 0.7
    figure = location_histogram(locations, 28, 28, border=0.95)
    image = panels(figure)[-1].images[0]
    assert image.get_clim() == pytest.approx((1 / 6000, 1)), "from one look of all to all looks"
    colours = image.to_rgba(image.get_array())
    assert len(np.unique(colours.reshape(-1, 4), axis=0)) == 3, "most, once, never"
    assert colours[0, 0, :3].tolist() == [0.93] * 3, "never is no colour of the scale"


def test_the_border_is_where_the_caller_says() -> None:
    titles = [
        panels(location_histogram(np.full((1, 1, 2), 0.5), 8, 8, border=border))[0].get_title()
        for border in (0.49, 0.51)
    ]
    assert titles == ["step 1\n100.0 % at the border", "step 1\n0.0 % at the border"]


def test_of_many_steps_twelve_are_shown() -> None:
    titles = [
        axes.get_title() for axes in panels(location_histogram(np.zeros((20, 2, 2)), 8, 8, border=0.95))
    ]
    steps = [int(title.split()[1]) for title in titles[:-1]]
    assert (len(steps), steps[0], steps[-1]) == (12, 1, 20)
    assert titles[-1].startswith("all steps")


@pytest.mark.parametrize(("steps", "height", "width"), [(1, 28, 28), (12, 100, 30), (3, 20, 40)])
def test_every_text_has_its_place(steps: int, height: int, width: int) -> None:
    figure = location_histogram(np.ones((steps, 4, 2)), height, width, border=0.95)
    found = extents(figure, texts(figure))
    shown = [box for box in found if box.y0 >= 0 and box.y1 <= figure.bbox.y1]  # not ticks beyond the bar
    assert_inside(figure, shown)
    assert_apart(found)


def test_what_cannot_be_counted_is_refused() -> None:
    for shape in ((3, 2), (0, 5, 2), (3, 0, 2), (3, 5, 3)):
        with pytest.raises(ValueError, match=r"shape \(T, N, 2\), T and N at least 1, got"):
            location_histogram(np.zeros(shape), 8, 8, border=0.95)
    for wrong in (np.nan, np.inf, -1.2):
        with pytest.raises(ValueError, match=rf"locations must be in \[-1, 1\], got {wrong}"):
            location_histogram(np.full((1, 1, 2), wrong), 8, 8, border=0.95)
    with pytest.raises(ValueError, match="height and a width of at least 1, got 0 and 8"):
        location_histogram(np.zeros((1, 1, 2)), 0, 8, border=0.95)
