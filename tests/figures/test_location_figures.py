"""Where was looked: shares of a whole data set."""

import numpy as np
import pytest

from zoo.figures import location_histogram
from zoo.figures.locations import location_shares


def test_shares_sum_to_one_and_lie_where_was_looked() -> None:
    looks = np.array([[-0.99, -0.99], [0.99, -0.99], [0.99, -0.99], [1.0, 1.0]])
    shares = location_shares(looks, 20, 40)
    assert shares.shape == (14, 28)
    assert shares.sum() == pytest.approx(1)
    assert (shares[0, 0], shares[0, -1], shares[-1, -1], shares[-1, 0]) == (0.25, 0.5, 0.25, 0)


def test_a_panel_for_each_look_and_one_for_all_with_the_share_at_the_border() -> None:
    locations = np.zeros((3, 4, 2))
    locations[1, :3, 0] = -0.97
    titles = [axes.get_title() for axes in location_histogram(locations, 28, 28).axes if axes.get_title()]
    assert titles == [
        "look 1\n0 % at the border",
        "look 2\n75 % at the border",
        "look 3\n0 % at the border",
        "all looks\n25 % at the border",
    ]


def test_colours_are_shares_of_the_images() -> None:
    locations = np.zeros((1, 10, 2))
    locations[0, 0] = 0.5
    (image,) = location_histogram(locations, 28, 28).axes[0].images
    values = image.get_array().compressed()
    assert sorted(values) == pytest.approx([0.1, 0.9])
    assert image.get_clim() == pytest.approx((0.09, 1))


@pytest.mark.parametrize(
    ("locations", "reason"),
    [
        (np.zeros((0, 3, 2)), "at least 1"),
        (np.zeros((3, 2)), "shape"),
        (np.full((1, 2, 2), np.nan), "nan"),
        (np.full((1, 2, 2), 1.5), "1.5"),
    ],
)
def test_what_cannot_be_drawn_is_refused(locations: np.ndarray, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        location_histogram(locations, 28, 28)
