"""Mechanisms over data sets: each stands in its row, in every panel."""

import pytest

from zoo.figures import Panel, png, side_by_side
from zoo.figures.comparison import Score

DOT, NONE = Score("attention=dot", [0.5, 0.7], (0.1, 1.1)), Score("model/decoder=none", [0.9], None)
COSINE = Score("$cos$ 注意", [21.0], None)
PANELS = [Panel("toy: exact_match", [DOT, NONE], True), Panel("texts: bleu", [COSINE, DOT], True)]


def test_a_mechanism_has_one_row_in_all_panels() -> None:
    first, second = side_by_side(PANELS).axes
    names = [label.get_text() for label in first.get_yticklabels()]
    assert names == ["model/decoder=none", "attention=dot", "$cos$ 注意"], (
        "the best of the first panel on top"
    )
    assert [axes.get_title() for axes in (first, second)] == ["toy: exact_match", "texts: bleu"]
    drawn = [(list(line.get_xdata()), set(line.get_ydata())) for line in first.lines]
    assert ([0.5, 0.7], {1}) in drawn
    assert ([0.1, 1.1], {1}) in drawn
    assert not any(2 in rows for _, rows in drawn), "what was not tried there has an empty row"
    assert {row for line in second.lines for row in line.get_ydata()} == {1, 2}
    bottom, top = first.get_ylim()
    assert bottom > top


def test_of_errors_the_lowest_is_on_top() -> None:
    (axes,) = side_by_side([Panel("digits: error", [NONE, DOT], False)]).axes
    assert axes.get_yticklabels()[0].get_text() == "attention=dot"


@pytest.mark.parametrize(("worst", "higher"), [(-50.0, True), (50.0, False)])
def test_one_far_off_does_not_flatten_the_others(worst: float, higher: bool) -> None:
    """It stands at the edge of bad values, with its mean."""
    scores = [Score(name, [0.5 + place / 10], None) for place, name in enumerate("abcd")]
    (axes,) = side_by_side([Panel("toy", [*scores, Score("e", [worst], None)], higher)]).axes
    left, right = axes.get_xlim()
    assert right - left < 1
    assert [line.get_marker() for line in axes.lines if left in line.get_xdata()] == ["<"] * higher
    assert [line.get_marker() for line in axes.lines if right in line.get_xdata()] == [">"] * (not higher)
    assert [text.get_text().strip() for text in axes.texts] == [f"{worst:.4g}"]


def test_nobody_is_far_off_from_one_value() -> None:
    scores = [Score(name, [1.0], None) for name in "abcdefg"]
    (axes,) = side_by_side([Panel("toy", [*scores, Score("h", [0.999], None)], True)]).axes
    left, right = axes.get_xlim()
    assert left < 0.999 < 1 < right < 1.01
    assert not axes.texts


def test_becomes_a_picture() -> None:
    assert png(side_by_side(PANELS)).startswith(b"\x89PNG")


@pytest.mark.parametrize("panels", [[], [Panel("toy", [], True)]])
def test_nothing_is_refused(panels: list[Panel]) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        side_by_side(panels)
