"""Configurations side by side: what is drawn is what was measured."""

import itertools
import random

import numpy as np
import pytest

from zoo.figures import metric_with_intervals, pareto_front, png, quality_against_cost
from zoo.figures.comparison import Score

SCORES = [
    Score("attention=dot", [0.5, 0.6, 0.55], (0.43, 0.67)),
    Score("attention=additive", [0.8, 0.7], (0.1, 1.4)),
    Score("$x_1$ 注意", [0.2], None),
]


def test_each_row_has_its_mean_interval_and_seeds() -> None:
    (axes,) = metric_with_intervals(SCORES, metric="bleu").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "attention=additive",
        "attention=dot",
        "$x_1$ 注意",
    ]
    drawn = [(list(line.get_xdata()), set(line.get_ydata())) for line in axes.lines]
    assert ([0.5, 0.6, 0.55], {1}) in drawn
    assert ([0.43, 0.67], {1}) in drawn
    assert any(
        places == {1} and len(values) == 1 and values[0] == pytest.approx(0.55) for values, places in drawn
    )
    assert sum(places == {2} for _, places in drawn) == 2, "one seed has no interval"
    bottom, top = axes.get_ylim()
    assert bottom > top, "the best is on top"


def test_the_lowest_error_is_on_top() -> None:
    (axes,) = metric_with_intervals(SCORES, metric="error", higher_is_better=False).axes
    assert axes.get_yticklabels()[0].get_text() == "$x_1$ 注意"


def test_of_very_many_the_best_are_drawn() -> None:
    scores = [Score(f"run {number}", [float(number)], None) for number in range(100)]
    (axes,) = metric_with_intervals(scores, metric="bleu").axes
    assert len(axes.get_yticklabels()) == 40
    assert axes.get_title() == "bleu, the best 40 of 100"
    assert axes.get_yticklabels()[0].get_text() == "run 99"


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("more", [True, False])
def test_the_front_is_what_nothing_beats(higher: bool, more: bool) -> None:
    """Against the definition, with ties."""
    draw = random.Random(3)
    for _ in range(50):
        points = [(draw.randint(0, 6), draw.randint(0, 6)) for _ in range(draw.randint(1, 12))]
        signed = [(value if higher else -value, cost if more else -cost) for value, cost in points]
        expected = {
            number
            for number, (value, cost) in enumerate(signed)
            if not any(v >= value and c >= cost and (v, c) != (value, cost) for v, c in signed)
        }
        values, costs = zip(*points, strict=True)
        front = pareto_front(values, costs, higher_is_better=higher, more_is_better=more)
        assert set(front) == expected
        assert len(front) == len(expected)
        along = [signed[number] for number in front]
        assert all(
            before[1] >= after[1] and before[0] <= after[0] for before, after in itertools.pairwise(along)
        )


def test_quality_against_speed() -> None:
    (axes,) = quality_against_cost(SCORES, [100.0, 50.0, 80.0], metric="bleu", cost="tokens/s").axes
    front = next(line for line in axes.lines if "Pareto" in str(line.get_label()))
    assert list(front.get_xdata()) == [100.0, 50.0]
    np.testing.assert_allclose(front.get_ydata(), [0.55, 0.75])
    assert {text.get_text() for text in axes.texts} == {score.name for score in SCORES}


def test_they_become_pictures_in_any_script() -> None:
    for figure in (
        metric_with_intervals(SCORES, metric="a$b"),
        quality_against_cost(SCORES, [1.0, 2.0, 3.0], metric="a$b", cost="$"),
    ):
        assert png(figure).startswith(b"\x89PNG")


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        metric_with_intervals([], metric="bleu")
    with pytest.raises(ValueError, match="'a' has no value"):
        metric_with_intervals([Score("a", [], None)], metric="bleu")
    with pytest.raises(ValueError, match="3 scores but 1 costs"):
        quality_against_cost(SCORES, [1.0], metric="bleu", cost="tokens/s")
