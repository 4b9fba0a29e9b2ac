"""What was measured here beside what others published, and whether it was reached."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from zoo.core.problems import unknown
from zoo.metrics.measure import MetricRecord
from zoo.reports.anchors import Anchor
from zoo.reports.columns import Column, markdown, metric_column, written
from zoo.reports.records import merged
from zoo.reports.runs import Run
from zoo.reports.tables import cell_of, minutes_column, seeds_of

_MET, _WITHIN, _SHORT = "met", "within the interval", "short"


def beside(published: Sequence[Run], anchors: Sequence[Anchor]) -> str:
    """A row for each configuration; below how many numbers were reached, and the sources.

    A published number is met where our mean over seeds is as good or better, and within the interval where
    it lies in Student's 95 % interval of our mean, for which there must be two seeds or more. One of another
    test is neither.

    Raises:
        ValueError: an anchor names a metric that its recipe does not have.
    """
    if not anchors:
        return ""
    sources = list(dict.fromkeys((anchor.source, anchor.seen) for anchor in anchors))
    rows: dict[str, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        rows[" ".join([anchor.experiment, *anchor.overrides])].append(anchor)
    records = merged(run.metrics for run in published)
    lines = [["`experiment=`", "here", "seeds", "minutes", "published", "reached"]]
    counts: Counter[str] = Counter()
    for typed, same in rows.items():
        runs = _runs_of(published, same[0])
        columns = _columns(typed, same, runs, records) if runs else {}
        there, reached = [], []
        for anchor in same:
            number = sources.index((anchor.source, anchor.seen)) + 1
            numbers = (
                f"{name} {_as_published(columns.get(name), one)}" for name, one in anchor.numbers.items()
            )
            differs = f" ({anchor.differs})" if anchor.differs else ""
            there.append(f"{', '.join(numbers)}{differs} [{number}]")
            if runs and anchor.other_test:
                reached.append(f"another test [{number}]")
            elif runs:
                states = {name: _state(columns[name], runs, goal) for name, goal in anchor.numbers.items()}
                counts.update(kind for kind, _ in states.values())
                reached.append(f"{_together(states)} [{number}]")
        here = ", ".join(f"{name} {cell_of(column, runs)}" for name, column in columns.items())
        minutes = cell_of(minutes_column(runs), runs) if runs else ""
        cells = [f"`{typed}`", here or "not measured", seeds_of(runs), minutes]
        lines.append([*cells, "; ".join(there), "; ".join(reached)])
    said = (
        f"Numbers of the same test: {counts[_MET]} met, {counts[_WITHIN]} within the 95 % interval of ours,"
        f" {counts[_SHORT]} short.\n\n"
    )
    notes = [f"- [{number}] {source}; {seen}\n" for number, (source, seen) in enumerate(sources, 1)]
    return f"\n{markdown(lines)}\n{said if counts else ''}{''.join(notes)}\n"


def _columns(
    typed: str, anchors: Sequence[Anchor], runs: Sequence[Run], records: Mapping[str, MetricRecord]
) -> dict[str, Column]:
    """Each metric that was published."""
    columns = {}
    for metric in dict.fromkeys(metric for anchor in anchors for metric in anchor.numbers):
        # What is measured at several sizes, as `wrong_bits_120`, is declared once.
        record = records.get(metric) or records.get(re.sub(r"_\d+$", "", metric))
        if record is None or not any(metric in run.measured("test") for run in runs):
            names = unknown(metric, runs[0].measured("test"))
            raise ValueError(f"published numbers of {typed}: there is no metric {metric!r}{names}")
        columns[metric] = metric_column(metric, record)
    return columns


def _state(column: Column, runs: Sequence[Run], goal: float) -> tuple[str, str]:
    """Whether our mean reaches a published number, in a word and in full."""
    found = column.summary(runs)
    if found is None:
        return _SHORT, "short: ours is not a number"
    missing = goal - found.mean if column.higher_is_better else found.mean - goal
    if missing <= 0:
        return _MET, _MET
    digits = column.places([found])
    least = 10**-digits
    said = f"short by {'less than ' if missing < least else ''}{written(max(missing, least), digits)}"
    if found.low is not None and found.high is not None and found.low <= goal <= found.high:
        return _WITHIN, f"{said}, {_WITHIN}"
    return _SHORT, said


def _together(states: Mapping[str, tuple[str, str]]) -> str:
    """What is true of each metric; once, where it is the same."""
    texts = {metric: said for metric, (_, said) in states.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{metric} {said}" for metric, said in texts.items())


def _runs_of(published: Sequence[Run], anchor: Anchor) -> list[Run]:
    """Those of a recipe with the same overrides; what was typed may be what the recipe says."""
    of_recipe = [run for run in published if run.results["experiment"] == anchor.experiment]
    wanted = _as_swept(anchor.overrides)
    runs = [run for run in of_recipe if _as_swept(run.overrides) == wanted]
    return runs or [run for run in of_recipe if not anchor.overrides and run.results.get("recipe")]


def _as_swept(overrides: Sequence[str]) -> list[str]:
    """Sorted, with truth values as a sweep writes them: `false` as `False`."""
    return sorted(re.sub(r"=(true|false)$", lambda found: found[0].title(), text) for text in overrides)


def _as_published(column: Column | None, number: float) -> str:
    """With all the digits that were published, and no fewer than ours have."""
    ours = column.digits or 0 if column else 0
    return written(number, max(ours, len(str(number).partition(".")[2])))
