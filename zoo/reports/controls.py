"""Controls of many runs in one line: a row or a column for each would hide the models among them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from zoo.reports.columns import Column, written
from zoo.reports.runs import Run


def controls_said(groups: Sequence[Sequence[Run]], columns: Mapping[tuple[str, str], Column]) -> list[str]:
    """What each control scores, such as `its captions, of other images: cider_d 1.19 to 1.20, bleu_1 65.0`.

    Args:
        groups: the runs of each row. Of a control it is the mean of each row that counts, and of several rows
            the least and the largest.
        columns: by split and metric, those of the models' own scores.
    """
    parts: dict[str, list[str]] = {}
    for control, metrics in _named(groups).items():
        for (split, metric), column in columns.items():
            if metric not in metrics:
                continue
            own = replace(column, value=_value(split, metrics[metric]))
            means = [one.mean for of in groups if (one := own.summary(of))]
            if means:
                digits = column.places([column.summary(of) for of in groups])
                ends = dict.fromkeys(written(end * column.scale, digits) for end in (min(means), max(means)))
                parts.setdefault(control, []).append(f"{column.head} {' to '.join(ends)}")
    return [f"{control}: {', '.join(numbers)}" for control, numbers in parts.items()]


def _value(split: str, name: str) -> Callable[[Run], float | None]:
    return lambda run: run.value(split, name)


def control_metrics(groups: Sequence[Sequence[Run]]) -> set[str]:
    """The names of all that controls score."""
    return {name for metrics in _named(groups).values() for name in metrics.values()}


def _named(groups: Sequence[Sequence[Run]]) -> dict[str, dict[str, str]]:
    """For each control what it is called for each metric, by what it says of itself."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for run in (run for of in groups for run in of):
        for control in run.controls.values():
            found[control.said] |= control.metrics
    return found
