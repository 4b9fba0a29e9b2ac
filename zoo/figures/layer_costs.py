"""Time of layers against the length of a sequence, and where they cross."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

_MARKERS = "osDv^"


def layer_costs(
    times: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    crossings: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    expected: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    features: int,
) -> Figure:
    """Two panels, both axes logarithmic.

    Args:
        times: by layer, lengths and seconds.
        crossings: by what self-attention is compared with, sizes and the length from which it takes longer.
        expected: likewise, by the table; the same names.
        features: d of the times.
    """
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (name, (lengths, seconds)), marker in zip(times.items(), _MARKERS, strict=False):
        left.loglog(lengths, [1000 * one for one in seconds], marker=marker, markersize=4, label=name)
    left.set(xlabel="positions n", ylabel="milliseconds, forward and backward", title=f"{features} features")
    for number, (name, (sizes, found)) in enumerate(crossings.items()):
        colour = f"C{number}"
        if len(found):
            right.loglog(sizes, found, marker=_MARKERS[number], color=colour, label=f"{name}: measured")
        right.loglog(*expected[name], color=colour, linestyle=":", label=f"{name}: by the table")
    right.set(xlabel="features d", ylabel="positions n", title="self-attention takes longer from n on")
    for axis in (right.xaxis, right.yaxis):
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_formatter(NullFormatter())
    right.set_xticks(sorted({size for sizes, _ in expected.values() for size in sizes}))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    return figure
