"""A comparison as pictures."""

from collections.abc import Sequence

from zoo.figures.comparison import Score, metric_with_intervals, quality_against_cost
from zoo.figures.png import png
from zoo.reports.comparison.comparison import Comparison, Row
from zoo.reports.names import printable


def pictures(comparison: Comparison) -> dict[str, bytes]:
    """PNG files by name: the metric with its intervals; against speed, if all ran on one kind of machine."""
    comparison = comparison.named_shortly
    metric, higher = comparison.metric, comparison.metrics[comparison.metric].higher_is_better
    figure = metric_with_intervals(
        [_score(row, comparison) for row in comparison.rows],
        metric=metric,
        higher_is_better=higher,
        baseline=_place(comparison.rows, comparison.baseline),
    )
    found = {f"{metric}.png": png(figure)}
    measured = [row for row in comparison.rows if "per_second" in row.costs]
    if measured and comparison.one_machine:
        figure = quality_against_cost(
            [_score(row, comparison) for row in measured],
            [row.costs["per_second"].mean for row in measured],
            metric=metric,
            cost=f"{comparison.costs['per_second'].head} in training",
            higher_is_better=higher,
            baseline=_place(measured, comparison.baseline),
        )
        found[f"{metric}_against_speed.png"] = png(figure)
    return found


def _place(rows: Sequence[Row], baseline: Row) -> int | None:
    """Where the baseline stands; None if its speed was not measured."""
    return next((number for number, row in enumerate(rows) if row is baseline), None)


def _score(row: Row, comparison: Comparison) -> Score:
    found = row.scores[comparison.metric]
    interval = None if found.low is None or found.high is None else (found.low, found.high)
    values = [run.value(comparison.question.split, comparison.metric) for run in row.group.runs]
    return Score(printable(row.group.label), [value for value in values if value is not None], interval)
