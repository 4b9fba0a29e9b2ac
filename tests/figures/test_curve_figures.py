"""Curves: the given numbers under the given names."""

from itertools import pairwise
from typing import Any

import pytest
from matplotlib.figure import Figure

from zoo.figures import learning_curve, png, score_by_length

WORDS: Any = {
    "score": "bleu",
    "length": "source words",
    "items": "sentences",
    "title": "bleu by source words",
}


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_a_score_by_length_shows_how_many_sentences_they_rest_on() -> None:
    figure = score_by_length(
        {
            "attention": ([5.5, 15.0, 24.0], [30.0, 29.0, 27.0], [10, 40, 3]),
            "$none": ([5.5, 15.0, 24.0], [28.0, 20.0, 9.0], [10, 40, 3]),
        },
        **WORDS,
    )
    scores, sentences = figure.axes
    assert [list(line.get_ydata()) for line in scores.lines] == [[30.0, 29.0, 27.0], [28.0, 20.0, 9.0]]
    assert [list(line.get_xdata()) for line in scores.lines] == [[5.5, 15.0, 24.0]] * 2
    assert [bar.get_height() for bar in sentences.patches] == [10, 40, 3]
    assert [bar.get_x() + bar.get_width() / 2 for bar in sentences.patches] == [5.5, 15.0, 24.0]
    assert legend(figure) == ["attention", "$none"]
    assert (scores.get_ylabel(), sentences.get_ylabel()) == ("bleu", "sentences")
    assert (scores.get_xlabel(), scores.get_title()) == ("source words", "bleu by source words")
    assert png(figure).startswith(b"\x89PNG")


def test_a_learning_curve_shows_its_values() -> None:
    curves = {f"score {number}": (range(0, 300, 10), [float(number)] * 30) for number in range(12)}
    figure = learning_curve(curves, metric="val/bleu", title="数 $")
    (axes,) = figure.axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[float(number)] * 30 for number in range(12)]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "val/bleu")
    assert legend(figure) == list(curves)
    assert png(figure).startswith(b"\x89PNG")


def test_curves_stand_on_zero_in_front_of_bars_that_do_not_overlap() -> None:
    curve = ([24.0, 5.5, 7.0], [30.0, 29.0, 27.0], [10, 40, 3])
    scores, sentences = score_by_length({"a": curve, "b": curve}, **WORDS).axes
    assert scores.get_ylim()[0] == 0
    assert scores.get_zorder() > sentences.get_zorder()
    bars = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in sentences.patches)
    assert len(bars) == 3, "once for both models"
    assert all(left < right for left, right in bars)
    assert all(one[1] < other[0] for one, other in pairwise(bars))


def test_marks_leave_a_long_curve_visible() -> None:
    (axes,) = learning_curve({"a": (range(300), [1.0] * 300), "b": ([1], [1.0])}, metric="loss").axes
    assert [line.get_markevery() for line in axes.lines] == [15, 1]


def test_dollars_are_only_signs() -> None:
    broken = "$\\frac$"
    figure = learning_curve({broken: ([1.0], [2.0])}, metric=broken, title=broken, steps=broken)
    assert png(figure).startswith(b"\x89PNG")


def test_one_point_and_none() -> None:
    assert png(score_by_length({"one": ([7.0], [12.0], [2])}, **WORDS)).startswith(b"\x89PNG")
    assert png(score_by_length({}, **WORDS)).startswith(b"\x89PNG")
    assert png(learning_curve({"empty": ([], [])}, metric="loss")).startswith(b"\x89PNG")


def test_a_long_name_is_cut() -> None:
    figure = learning_curve({"a" * 100: ([1.0], [2.0])}, metric="loss")
    assert legend(figure) == ["a" * 39 + "…"]


def test_curves_whose_parts_differ_are_named() -> None:
    with pytest.raises(ValueError, match="curve 'x' has 2 steps and 1 values"):
        learning_curve({"x": ([1, 2], [0.5])}, metric="loss")
    with pytest.raises(ValueError, match="curve 'x' has 2 centres, 2 values and 1 counts"):
        score_by_length({"x": ([1, 2], [0.5, 0.6], [3])}, **WORDS)
