"""Grids of heads: a panel for each, labels only at the edges, one scale, nothing overlapping."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.figures.layout import assert_apart, assert_inside, extents, labels, texts
from zoo.figures import head_grid, head_grids, png
from zoo.tasks.head_maps import HeadMaps

WORDS = ["a", "Donaudampfschifffahrtsgesellschaft", ",", "$x_2$", "机器翻译"]


def tokens(number: int) -> list[str]:
    return [*(WORDS[place % len(WORDS)] for place in range(number - 1)), "</s>"]


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.images]


def test_a_panel_for_each_head_with_its_weights() -> None:
    weights = np.random.default_rng(0).random((2, 3, 4, 5))
    figure = head_grid(weights, tokens(4), tokens(5), title="run: cross")
    drawn = panels(figure)
    assert len(drawn) == 6
    for place, axes in enumerate(drawn):
        (image,) = axes.images
        np.testing.assert_array_equal(np.asarray(image.get_array()), weights[place // 3, place % 3])
        assert image.get_clim() == (0.0, 1.0)
        assert (axes.get_xlim(), axes.get_ylim()) == ((0, 5), (4, 0))
        assert len(labels(axes, "x")) == (5 if place < 3 else 0), "the upper panels alone name keys"
        assert len(labels(axes, "y")) == (4 if place % 3 == 0 else 0), "the left panels alone name queries"
    tops = {round(axes.get_position().y1, 6) for axes in drawn}
    lefts = {round(axes.get_position().x0, 6) for axes in drawn}
    assert (len(tops), len(lefts)) == (2, 3)
    assert drawn[0].get_position().y0 > drawn[3].get_position().y1, "layer 1 is on top"
    said = [text.get_text() for text in figure.texts]
    assert said[0] == "run: cross"
    assert said[2:] == ["head 1", "head 2", "head 3", "layer 1", "layer 2"]


@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (2, 4, 3, 4), (1, 3, 20, 34), (1, 8, 12, 40)])
def test_every_text_has_its_place(shape: tuple[int, int, int, int]) -> None:
    """No two overlap, all lie on the figure; where not all tokens fit, the named ones stand at theirs."""
    queries, keys = tokens(shape[2]), tokens(shape[3])
    figure = head_grid(np.zeros(shape), queries, keys, title="multi30k_transformer: cross")
    first = panels(figure)[0]
    places = [int(place) for place in first.get_xticks()]
    step = 3 if shape[3] == 40 else 1
    assert places == list(range(0, shape[3], step))
    assert [text[:8] for text in labels(first, "x")] == [keys[place][:8] for place in places]
    boxes = [*extents(figure, texts(figure)), *(axes.get_window_extent() for axes in figure.axes)]
    assert_apart(boxes)
    assert_inside(figure, boxes)
    assert figure.get_figwidth() <= 24


def test_a_figure_for_each_kind_of_attention() -> None:
    maps = {"encoder": HeadMaps(np.eye(2)[None, None], ["a", "b"], ["a", "b"])}  # type: ignore[arg-type]
    figures = head_grids(maps, title="run")
    assert [figure.texts[0].get_text() for figure in figures.values()] == ["run: encoder"]
    assert png(figures["encoder"]).startswith(b"\x89PNG")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 1, 2, 3\), 2 queries and 2 keys"):
        head_grid(np.zeros((1, 1, 2, 3)), ["a", "b"], ["a", "b"])
    for shape in ((2, 3), (1, 0, 2, 3)):
        with pytest.raises(ValueError, match=r"\(layers, heads, queries, keys\), got"):
            head_grid(np.zeros(shape), ["a", "b"], ["a", "b", "c"])
