"""Numbers over a length or over training, one curve for each model."""

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from math import isfinite

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zoo.figures.labels import families, shortened, text_style
from zoo.figures.page import DPI

_MARKERS = "osD^vPX*"  # they tell curves apart without colours
_LABEL_COLUMNS = 40

LengthCurve = tuple[Sequence[float], Sequence[float], Sequence[int]]
"""Mean length, score and number of items of each group."""

Curve = tuple[Sequence[float], Sequence[float]]
"""Steps and values."""


def score_by_length(
    curves: Mapping[str, LengthCurve], *, score: str, length: str, items: str, title: str
) -> Figure:
    """Draws a score by the length of the input, as figure 2 of Bahdanau et al. 2015 has BLEU by words.

    Args:
        curves: by label, what `zoo.metrics.bleu_by_length` returns; bars show the number of items.
        score: its name, on the vertical axis.
        length: what the horizontal axis counts.
        items: the name of what is counted by the bars.
        title: stands above.

    Raises:
        ValueError: a curve's parts differ in length.
    """
    figure, axes = _figure(title, length, score)
    behind = axes.twinx()
    behind.set_ylabel(items, color="0.6", **text_style())
    behind.tick_params(colors="0.6")
    behind.spines["top"].set_visible(False)
    axes.set_zorder(behind.get_zorder() + 1)
    axes.patch.set_visible(False)
    drawn: list[tuple[list[float], list[int]]] = []
    for (label, (centres, values, counts)), marker in zip(curves.items(), cycle(_MARKERS), strict=False):
        if not len(centres) == len(values) == len(counts):
            raise ValueError(
                f"curve {label!r} has {len(centres)} centres, {len(values)} values and {len(counts)} counts"
            )
        axes.plot(centres, values, marker=marker, label=shortened(label, _LABEL_COLUMNS))
        bars = (list(centres), list(counts))
        if bars not in drawn:  # models scored on the same sentences share their bars
            drawn.append(bars)
            behind.bar(*bars, width=_bar_width(centres), color="0.92")
    axes.set_ylim(bottom=0)
    _legend(axes)
    return figure


def learning_curve(
    curves: Mapping[str, Curve], *, metric: str, title: str = "Learning curve", steps: str = "step"
) -> Figure:
    """Draws a metric over training.

    Args:
        curves: by label, the steps and the metric's values there.
        metric: its name, on the vertical axis.
        title: stands above.
        steps: what the horizontal axis counts.

    Raises:
        ValueError: a curve's numbers of steps and values differ.
    """
    figure, axes = _figure(title, steps, metric)
    for (label, (at, values)), marker in zip(curves.items(), cycle(_MARKERS), strict=False):
        if len(at) != len(values):
            raise ValueError(f"curve {label!r} has {len(at)} steps and {len(values)} values")
        every = max(1, len(at) // 20)  # hundreds of marks would hide the curve
        name = shortened(label, _LABEL_COLUMNS)
        axes.plot(at, values, marker=marker, markevery=every, markersize=4, label=name)
    _legend(axes)
    return figure


def rate_curve(
    rates: Sequence[float], losses: Sequence[float], *, chosen: float | None, title: str
) -> Figure:
    """Draws a training loss while the learning rate rises (Smith 2017, section 3.3).

    Args:
        rates: the rate at each step, on a logarithmic axis.
        losses: the loss there.
        chosen: the rate that a line marks; None for no line.
        title: stands above.

    Raises:
        ValueError: the numbers of rates and losses differ.
    """
    if len(rates) != len(losses):
        raise ValueError(f"there are {len(rates)} rates and {len(losses)} losses")
    figure, axes = _figure(title, "learning rate", "training loss, smoothed")
    axes.plot(rates, losses, label="loss")
    axes.set_xscale("log")
    finite = [loss for loss in losses if isfinite(loss)]
    if finite:  # where the loss breaks off it would flatten the rest
        low, start = min(finite), finite[0]
        axes.set_ylim(low - 0.1 * (start - low) - 1e-6, start + 0.5 * (start - low) + 1e-6)
    if chosen is not None:
        axes.axvline(chosen, color="0.4", linestyle="--", label=f"falls fastest: {chosen:.2g}")
    _legend(axes)
    return figure


def _figure(title: str, across: str, up: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.0, 4.2), dpi=DPI, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(shortened(title, 2 * _LABEL_COLUMNS), **text_style())
    axes.set_xlabel(across, **text_style())
    axes.set_ylabel(up, **text_style())
    axes.grid(color="0.9")
    axes.spines["top"].set_visible(False)
    return figure, axes


def _bar_width(centres: Sequence[float]) -> float:
    """Narrow enough for the two closest groups."""
    ordered = sorted(centres)
    gaps = [after - before for before, after in pairwise(ordered)]
    return 0.8 * min(gaps, default=1.0)


def _legend(axes: Axes) -> None:
    if axes.lines:
        legend = axes.legend(frameon=False, prop={"family": list(families())})
        for text in legend.get_texts():
            text.set_parse_math(False)
