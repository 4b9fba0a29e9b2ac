"""Speeds beside other implementations: what `benchmarks/side_by_side.py` kept, as tables."""

import statistics
from collections.abc import Mapping
from itertools import chain
from typing import Any

_RATE = "_per_second"
_QUIET = 0.12
"""Cores that other processes may use unmentioned: `QUIET` of `benchmarks/side_by_side.py`."""


def speed_tables(figures: Mapping[str, Any], file: str) -> str:
    """A comparison, with a row for each of its sides; or several of two sides, with a row for each of them.

    Args:
        figures: a file of `results/benchmarks`; sides by name, or comparisons by name with sides by name.
        file: its path, as the page shows it.

    Returns:
        Markdown. Speeds and ratios are medians of the counted rounds, the latter with their range.
    """
    named = {name: value for name, value in figures.items() if name != "machine"}
    if all("ratio" in value for value in named.values()):
        lines, groups = _rows(named), {"": list(named.values())}
    else:
        lines, groups = _pairs(named), {name: list(sides.values()) for name, sides in named.items()}
    return "\n".join(["", *lines, "", _conditions(figures.get("machine"), groups, file), "", ""])


def _rows(sides: Mapping[str, Any]) -> list[str]:
    first = next(iter(sides))
    unit = _unit(sides[first])
    lines = [f"| | {unit}/s | {first} / this row | most memory |", "| --- | --- | --- | --- |"]
    for name, side in sides.items():
        ratio = "" if name == first else _ratio(side)
        lines.append(f"| {name} | {_median(side, unit)} | {ratio} | {_memory(side)} |")
    return lines


def _pairs(groups: Mapping[str, Any]) -> list[str]:
    one, first = next(iter(next(iter(groups.values())).items()))
    unit = _unit(first)
    lines = [
        f"| | {one}, {unit}/s | beside | {unit}/s | faster by | most memory of each |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, sides in groups.items():
        (_, mine), (other, theirs) = sides.items()
        memory = ", ".join(filter(None, map(_memory, (mine, theirs))))
        cells = [name.replace("_", " "), _median(mine, unit), other, _median(theirs, unit)]
        lines.append(f"| {' | '.join(cells)} | {_ratio(theirs)} | {memory} |")
    return lines


def _unit(side: Mapping[str, Any]) -> str:
    """What is counted, such as tokens."""
    return next(key for key in side if key.endswith(_RATE)).removesuffix(_RATE)


def counted(side: Mapping[str, Any], key: str) -> list[float]:
    """The figures of the counted rounds."""
    values: list[float] = side[key]
    return [values[number - 1] for number in side.get("counted_rounds", range(1, len(values) + 1))]


def _median(side: Mapping[str, Any], unit: str) -> str:
    value = statistics.median(counted(side, unit + _RATE))
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(side: Mapping[str, Any]) -> str:
    ratios = counted(side, "ratio")
    middle = f"{statistics.median(ratios):.2f}"
    return middle if len(ratios) == 1 else f"{middle} ({min(ratios):.2f} to {max(ratios):.2f})"


def _memory(side: Mapping[str, Any]) -> str:
    peaks = side.get("peak_memory_mib")
    return f"{max(peaks) / 1024:.1f} GiB" if peaks else ""


def _conditions(machine: Mapping[str, Any] | None, groups: Mapping[str, list[Any]], file: str) -> str:
    """Machine and rounds, and where the figures lie."""
    sides = list(chain.from_iterable(groups.values()))
    rounds = max(len(side["ratio"]) for side in sides)
    busy = {name: _busiest(group) for name, group in groups.items()}
    restless = [name for name, cores in busy.items() if min(cores, default=0.0) > _QUIET]
    quiet = [
        len(group[0].get("counted_rounds", group[0]["ratio"]))
        for name, group in groups.items()
        if name not in restless
    ]
    told = [f"{rounds} round{'s' if rounds > 1 else ''}"]
    if min(quiet, default=rounds) < rounds:
        told[0] += f", of which at least {min(quiet)} had a quiet machine and count"
    if any(restless):
        names = ", ".join(restless).replace("_", " ")
        told.append(f"no round of {names} had a quiet machine, and all count")
    if (others := max(chain.from_iterable(busy.values()), default=0.0)) > _QUIET:
        told.append(f"other processes used up to {others:.1f} cores")
    if machine:
        threads = machine["threads"]
        told.insert(0, f"{machine['processor']}, {threads} thread{'s' if threads > 1 else ''}")
    return f"{'; '.join(told)} (`{file}`)."


def _busiest(sides: list[Any]) -> list[float]:
    """The most cores that other processes used beside any side, in each counted round; empty if unknown."""
    known = [counted(side, "other_cores") for side in sides if "other_cores" in side]
    return [max(cores) for cores in zip(*known, strict=True)]
