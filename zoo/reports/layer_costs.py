"""What layers cost: exponents and crossing points of `benchmarks/cost_of_layers.py`, as tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from zoo.figures.layer_costs import layer_costs

NAMES = {
    "self_attention": "self-attention",
    "self_attention_fused": "self-attention, fused kernel",
    "restricted": "restricted self-attention",
    "recurrent": "recurrent",
    "convolutional": "convolutional",
    "dilated": "convolutional, dilated",
}
_OPERATIONS = {
    "self_attention": ("n² d", 2, 1),
    "self_attention_fused": ("n² d", 2, 1),
    "restricted": ("r n d", 1, 1),
    "recurrent": ("n d²", 1, 2),
    "convolutional": ("k n d²", 1, 2),
}
"""The table's operations, and their exponents over n and d."""
_SEQUENTIAL = {"recurrent": "n"}
_PATH = {"restricted": "n / r", "recurrent": "n", "convolutional": "n / k", "dilated": "log_k n"}
_FROM = 4096
"""The shortest sequence of the asymptotic range: 64 times the number of features."""

Points = Sequence[Mapping[str, Any]]


def exponent(points: Points, over: str, of: str, *, first: int = 0) -> float:
    """The slope of log(of) over log(over), by least squares.

    Args:
        points: the measurements.
        over: `length` or `features`.
        of: what was measured.
        first: the least value of `over` that counts.

    Returns:
        NaN for fewer than two points.
    """
    counted = [one for one in points if one[over] >= first and one[of]]
    pairs = [(math.log(one[over]), math.log(one[of])) for one in counted]
    if len(pairs) < 2:
        return math.nan
    x_mean, y_mean = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    scatter = sum((x - x_mean) ** 2 for x, _ in pairs)
    slope: float = sum((x - x_mean) * (y - y_mean) for x, y in pairs) / scatter
    return slope


def crossing(one: Points, other: Points) -> float | None:
    """The length from which `one` takes longer than `other`, for good; None: it does not happen.

    Args:
        one: measurements over `length`, in order.
        other: likewise, of the same lengths.
    """
    logs = [
        (math.log(a["length"]), math.log(a["seconds"] / b["seconds"]))
        for a, b in zip(one, other, strict=False)
        if a["length"] == b["length"]
    ]
    if not logs or logs[-1][1] <= 0:
        return None
    for (x, y), (next_x, next_y) in zip(reversed(logs[:-1]), reversed(logs[1:]), strict=True):
        if y <= 0:
            return math.exp(x - y * (next_x - x) / (next_y - y))
    return 0.0  # at every length


def crossings(figures: Mapping[str, Any]) -> dict[str, dict[int, float | None]]:
    """For each other layer and each d, the n from which self-attention by products takes longer."""

    def of_size(name: str, size: int) -> Points:
        return [one for one in figures["crossing"][name] if one["features"] == size]

    sizes = sorted({one["features"] for one in figures["crossing"]["self_attention"]})
    return {
        name: {size: crossing(of_size("self_attention", size), of_size(name, size)) for size in sizes}
        for name in ("recurrent", "convolutional", "restricted")
    }


def drawn_costs(figures: Mapping[str, Any]) -> Figure:
    """Times over n, and crossing points over d beside those of the table."""
    found = crossings(figures)
    sizes = list(next(iter(found.values())))
    by_table = {
        "recurrent": sizes,
        "convolutional": [figures["width"] * size for size in sizes],
        "restricted": [2 * figures["window"]] * len(sizes),
    }
    inside = {
        name: [(size, length) for size, length in lengths.items() if length]
        for name, lengths in found.items()
    }
    return layer_costs(
        {
            NAMES[name]: ([one["length"] for one in points], [one["seconds"] for one in points])
            for name, points in figures["over_length"].items()
        },
        {
            NAMES[name]: ([size for size, _ in points], [length for _, length in points])
            for name, points in inside.items()
        },
        {NAMES[name]: (sizes, lengths) for name, lengths in by_table.items()},
        features=figures["over_length"]["recurrent"][0]["features"],
    )


def cost_tables(figures: Mapping[str, Any]) -> str:
    """The table of the paper with what was measured, and the crossing points, in Markdown."""
    over_length, over_features = figures["over_length"], figures["over_features"]
    size = over_length["recurrent"][0]["features"]
    of_d = {
        f"d = {points[0]['features']:,} to {points[-1]['features']:,}, n = {points[0]['length']:,}": None
        for points in over_features.values()
    }
    lines = [
        "",
        f"Exponents over n, from n = {_FROM:,} on, with d = {size}; over d with {', or '.join(of_d)}:",
        "",
        "| layer | operations | time over n (table) | memory over n | operations over n | "
        "time over d (table) | memory over d | operations over d |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, points in over_length.items():
        said, over_n, over_d = _OPERATIONS[name]
        measured = ("seconds", "kept_bytes", "operations")
        found = [exponent(points, "length", key, first=_FROM) for key in measured]
        found += [exponent(over_features[name], "features", key) for key in measured]
        cells = [f"{value:.2f}" for value in found]
        cells[0] += f" ({over_n})"
        cells[3] += f" ({over_d})"
        lines.append(f"| {NAMES[name]} | {said} | {' | '.join(cells)} |")
    lines += ["", *_times(over_length), "", *_graphs(figures), "", *_crossing_table(figures), ""]
    machine = figures["machine"]
    where = machine["gpus"][0] if figures["device"] == "cuda" else f"{machine['processor']}, one thread"
    return "\n".join([*lines, f"{where}; load {figures['load_average']:.1f} when it began.", "", ""])


def _times(over_length: Mapping[str, Points]) -> list[str]:
    """Milliseconds and megabytes of some lengths."""
    lengths = [one["length"] for one in over_length["recurrent"]][::2]
    lines = [
        "| milliseconds; megabytes | " + " | ".join(f"n = {length:,}" for length in lengths) + " |",
        "| --- |" + " --- |" * len(lengths),
    ]
    for name, points in over_length.items():
        by_length = {one["length"]: one for one in points}
        cells = [
            f"{1000 * by_length[length]['seconds']:.1f}; {by_length[length]['kept_bytes'] / 1000**2:.1f}"
            if length in by_length
            else "too large"
            for length in lengths
        ]
        lines.append(f"| {NAMES[name]} | {' | '.join(cells)} |")
    return lines


def _graphs(figures: Mapping[str, Any]) -> list[str]:
    """Operations in sequence, and layers between the ends of a sequence."""
    depth, needed = figures["depth"], figures["layers_needed"]
    of_depth, of_needed = next(iter(depth.values())), next(iter(needed.values()))
    lines = [
        "| layer | in sequence (table) | "
        + " | ".join(f"longest chain, n = {length}" for length in of_depth)
        + " | path (table) | "
        + " | ".join(f"layers, n = {length}" for length in of_needed)
        + " |",
        "| --- |" + " --- |" * (2 + len(of_depth) + len(of_needed)),
    ]
    for name, layers in needed.items():
        chains = depth["convolutional" if name == "dilated" else name].values()
        cells = [
            _SEQUENTIAL.get(name, "1"),
            *map(str, chains),
            _PATH.get(name, "1"),
            *map(str, layers.values()),
        ]
        lines.append(f"| {NAMES[name]} | {' | '.join(cells)} |")
    return lines


def _crossing_table(figures: Mapping[str, Any]) -> list[str]:
    """From which n self-attention takes longer."""
    found = crossings(figures)
    sizes = next(iter(found.values()))
    of_table = {
        "recurrent": "n = d",
        "convolutional": f"n = k d, k = {figures['width']}",
        "restricted": f"n = r = {2 * figures['window']}",
    }
    last = max(one["length"] for one in figures["crossing"]["self_attention"])
    lines = [
        "| self-attention takes longer than | by the table from | "
        + " | ".join(f"d = {d}" for d in sizes)
        + " |",
        "| --- | --- |" + " --- |" * len(sizes),
    ]
    for name, lengths in found.items():
        cells = [
            f"above {last:,}" if length is None else "always" if not length else f"n = {length:,.0f}"
            for length in lengths.values()
        ]
        lines.append(f"| {NAMES[name]} | {of_table[name]} | {' | '.join(cells)} |")
    return lines
