"""Configurations side by side: what is drawn is what was measured."""

import itertools
import random

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tests.figures.layout import assert_apart, extents, labels
from zoo.figures import metric_with_intervals, pareto_front, png, quality_against_cost
from zoo.figures.comparison import Score

SCORES = [
    Score("attention=dot", [0.5, 0.6, 0.55], (0.43, 0.67)),
    Score("attention=additive", [0.8, 0.7], (0.1, 1.4)),
    Score("$x_1$ 注意", [0.2], None),
]


def test_each_row_has_its_mean_interval_and_seeds() -> None:
    (axes,) = metric_with_intervals(SCORES, metric="bleu").axes
    assert labels(axes, "y") == ["attention=additive", "attention=dot", "$x_1$ 注意"]
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
    figure = metric_with_intervals(scores, metric="bleu")
    (axes,) = figure.axes
    assert len(axes.get_yticklabels()) == 40
    assert figure.get_suptitle() == "bleu\nthe best 40 of 100"
    assert axes.get_yticklabels()[0].get_text() == "run 99"


@pytest.mark.parametrize(
    ("baseline", "last", "cut"),
    [(3, "run 3 (baseline)", "the best 40 of 100, and the baseline"), (80, "run 60", "the best 40 of 100")],
)
def test_the_baseline_is_drawn_wherever_it_stands(baseline: int, last: str, cut: str) -> None:
    scores = [Score(f"run {number}", [float(number)], None) for number in range(100)]
    figure = metric_with_intervals(scores, metric="bleu", baseline=baseline)
    (axes,) = figure.axes
    names = labels(axes, "y")
    assert (names[-1], f"run {baseline} (baseline)" in names) == (last, True)
    assert figure.get_suptitle() == f"bleu\n{cut}"


def test_the_title_has_room_beside_long_names() -> None:
    scores = [Score("w" * 200, [float(number)], None) for number in range(100)]
    figure = metric_with_intervals(scores, metric="a_metric_of_a_very_long_name_" * 9, baseline=99)
    figure.draw_without_rendering()
    title = figure.texts[0].get_window_extent()
    assert title.x0 >= 0
    assert title.x1 <= figure.bbox.x1


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


def front_of(axes: Axes) -> Line2D:
    return next(line for line in axes.lines if "Pareto" in str(line.get_label()))


def listed(figure: Figure) -> list[str]:
    """What stands beside the axes."""
    return [text.get_text() for text in figure.texts if text.get_text() != figure.get_suptitle()]


def many(number: int) -> tuple[list[Score], list[float]]:
    """Scores between 30 and 40, at speeds that are close together."""
    draw = random.Random(5)
    scores = [Score(f"run {place}", [30 + 10 * draw.random()], None) for place in range(number)]
    return scores, [100 + draw.gauss(0, 5) for _ in scores]


def test_quality_against_speed() -> None:
    figure = quality_against_cost(SCORES, [100.0, 50.0, 80.0], metric="bleu", cost="tokens/s", baseline=2)
    (axes,) = figure.axes
    front = front_of(axes)
    assert list(front.get_xdata()) == [100.0, 50.0]
    np.testing.assert_allclose(front.get_ydata(), [0.55, 0.75])
    assert [text.get_text() for text in axes.texts] == ["1", "2", "3"]
    assert figure.get_suptitle() == "bleu against tokens/s"
    expected = ["1", "attention=additive", "2", "attention=dot", "3", "$x_1$ 注意 (baseline)"]
    assert listed(figure) == expected


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("more", [True, False])
def test_the_front_is_a_step_where_nothing_was_measured(higher: bool, more: bool) -> None:
    """At a cost between two points one has the quality of that with the better cost."""
    draw = random.Random(7)
    values = [draw.random() for _ in range(40)]
    costs = [draw.random() for _ in values]
    (axes,) = quality_against_cost(
        [Score(str(value), [value], None) for value in values],
        costs,
        metric="m",
        cost="c",
        higher_is_better=higher,
        more_is_better=more,
    ).axes
    front = front_of(axes)
    assert front.get_drawstyle() == "steps-post"
    path = step_path(front)
    for (x, y), (next_x, next_y) in itertools.pairwise(path):
        middle = ((x + next_x) / 2, (y + next_y) / 2)
        good_enough = [
            value
            for value, cost in zip(values, costs, strict=True)
            if (cost >= middle[0] if more else cost <= middle[0])
        ]
        reached = max(good_enough) if higher else min(good_enough)
        assert middle[1] <= reached if higher else middle[1] >= reached
        assert x == next_x or y == next_y


def step_path(line: Line2D) -> list[tuple[float, float]]:
    """The corners of a line as it is drawn."""
    corners = STEP_LOOKUP_MAP[line.get_drawstyle()](line.get_xdata(), line.get_ydata())
    return list(zip(*corners, strict=True))


def test_numbers_hide_no_point_and_no_other_number() -> None:
    scores, costs = many(60)
    figure = quality_against_cost(scores, costs, metric="bleu", cost="tokens/s", baseline=0)
    (axes,) = figure.axes
    boxes = extents(figure, axes.texts)
    assert len(boxes) == 30
    assert_apart(boxes)
    points = axes.transData.transform([(cost, score.mean) for score, cost in zip(scores, costs, strict=True)])
    assert not any(box.contains(x, y) for box in boxes for x, y in points)


def test_names_stand_in_lines_within_the_picture() -> None:
    scores, costs = many(60)
    scores[4] = Score("w" * 300, scores[4].values, None)
    figure = quality_against_cost(scores, costs, metric="bleu", cost="tokens/s", baseline=4)
    boxes = extents(figure, figure.texts)
    assert_apart(boxes)
    assert all(box.x1 <= figure.bbox.x1 and box.y0 >= 0 for box in boxes)
    assert listed(figure)[-1] == "30 others: dots without a number"
    assert any(text.endswith("(baseline)") for text in listed(figure))


@pytest.mark.parametrize("higher", [True, False])
def test_a_far_off_value_stands_at_the_edge(higher: bool) -> None:
    """Neither where it is on the front, for it is the fastest."""
    sign = 1 if higher else -1
    scores, costs = many(12)
    scores = [Score(score.name, [sign * score.mean], None) for score in scores]
    scores[3] = Score("none", [sign * 0.5], None)
    costs[3] = 1000.0
    figure = quality_against_cost(scores, costs, metric="m", cost="c", higher_is_better=higher)
    (axes,) = figure.axes
    bottom, top = axes.get_ylim()
    kept = [score.mean for score in scores if score.name != "none"]
    assert (max(kept) - min(kept)) / (top - bottom) > 0.7
    (edge,) = [line for line in axes.lines if "beyond this edge" in str(line.get_label())]
    assert list(edge.get_xdata()) == [1000.0]
    assert list(edge.get_ydata()) == [bottom if higher else top]
    assert listed(figure)[-1] == f"none: {sign * 0.5}"
    assert sign * 0.5 in list(front_of(axes).get_ydata())


def test_values_that_are_spread_all_stand_where_they_are() -> None:
    scores = [Score(str(value), [value], None) for value in (10.0, 15.0, 29.0, 30.0, 30.5, 31.0)]
    (axes,) = quality_against_cost(scores, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], metric="m", cost="c").axes
    assert axes.get_ylim()[0] < 10


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
