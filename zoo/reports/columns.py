"""A number of runs as every table shows it: its head, how it is written, and which of several is the best."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from zoo.metrics.measure import Better, MetricRecord
from zoo.reports.runs import Run, is_number
from zoo.reports.seeds import Summary, summarise


@dataclass(frozen=True)
class Column:
    """A number of a run.

    Attributes:
        head: its name in a table.
        value: of a run; None where it was not measured.
        digits: decimal places; None: as many as the size of the numbers needs.
        better: which values are; None where neither is.
        scale: what values are multiplied by where they are shown.
        share: whether values are shares, from 0 to 1.
    """

    head: str
    value: Callable[[Run], float | None]
    digits: int | None = None
    better: Better | None = None
    scale: float = 1.0
    share: bool = False

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values are better; assumed where neither side was declared to be."""
        return self.better != "min"

    def summary(self, runs: Iterable[Run]) -> Summary | None:
        """Of the runs that have it; None where none has. The runs of one fold count as one, by their mean."""
        known: dict[object, list[float]] = defaultdict(list)
        for number, run in enumerate(runs):
            if (value := self.value(run)) is not None:
                known[("run", number) if run.fold is None else ("fold", run.fold)].append(value)
        means = [statistics.fmean(values) for values in known.values()]
        return summarise(means, share=self.share) if means else None

    def places(self, found: Iterable[Summary | None]) -> int:
        """Decimal places for these numbers: the largest has four digits or five where none are declared."""
        if self.digits is not None:
            return self.digits
        largest = max((abs(one.mean * self.scale) for one in found if one), default=0)
        return 2 if largest >= 10 else 3 if largest > 1 else 4

    def best(self, found: Sequence[Summary | None]) -> list[bool]:
        """Which of the means is the best: none where no side is better, or nothing differs."""
        means = {one.mean for one in found if one}
        if self.better is None or len(means) < 2:
            return [False] * len(found)
        wanted = max(means) if self.higher_is_better else min(means)
        return [one is not None and one.mean == wanted for one in found]


def metric_column(name: str, record: MetricRecord, split: str = "test") -> Column:
    """A metric of a split."""
    head = name if split == "test" else f"{name} ({split})"
    return Column(head, lambda run: run.value(split, name), record.digits, record.better, share=record.share)


def cost_columns(runs: Sequence[Run]) -> dict[str, Column]:
    """What runs cost, by its name in results.json; speeds are in the unit of the first run."""
    results = runs[0].results
    unit = results.get("unit") or next(iter(results.get("per_second") or ()), "items")

    def cost(name: str) -> Callable[[Run], float | None]:
        return lambda run: _finite(run.results.get(name))

    def speed(run: Run) -> float | None:
        return _finite((run.results.get("per_second") or {}).get(unit))

    return {
        "parameters": Column("parameters", cost("parameters"), 0, "min"),
        "seconds": Column("seconds", cost("seconds"), 0, "min"),
        "per_second": Column(f"{unit}/s", speed, 0, "max"),
        "peak_memory_bytes": Column("GB", cost("peak_memory_bytes"), 2, "min", scale=1e-9),
    }


def _finite(value: object) -> float | None:
    return float(value) if is_number(value) else None


def written(value: float | None, digits: int, sign: str = "") -> str:
    """A number; empty for None. What rounds to zero has no minus."""
    return "" if value is None else f"{value:{sign}z,.{digits}f}"


def spread(found: Summary | None, digits: int, scale: float = 1.0) -> str:
    """Mean ± standard deviation, as far as they are known."""
    if found is None:
        return ""
    mean = written(found.mean * scale, digits)
    return mean if found.deviation is None else f"{mean} ± {written(found.deviation * scale, digits)}"


def interval(low: float | None, high: float | None, digits: int, sign: str = "") -> str:
    """`[low, high]`; empty where they are not known."""
    if low is None or high is None:
        return ""
    return f"[{written(low, digits, sign)}, {written(high, digits, sign)}]"


def markdown(lines: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """A Markdown table.

    Args:
        lines: cells; the first line is the head.
        right: which columns are set to the right.
    """
    rule = ["---:" if number < len(right) and right[number] else "---" for number in range(len(lines[0]))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))
