"""Pictures of recipes as they stand, the mean over their seeds."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from zoo.figures.curves import bleu_by_length as draw_bleu_by_length
from zoo.figures.curves import learning_curve as draw_learning_curve
from zoo.reports.runs import Run
from zoo.reports.tables import machines


def learning_curves(published: Sequence[Run]) -> Figure | None:
    """The monitored metric over minutes of training; None where there is nothing to draw."""
    curves, monitor = {}, ""
    for recipe, seeds in _recipes(published).items():
        # Minutes on other machines, or on more of its cores, are other minutes.
        alike = [run for run in seeds if machines([run]) == machines(seeds[:1])]
        learned = [curve for run in alike if (curve := run.results.get("learning_curve"))]
        if learned:  # that of a run which was only tested may be gone
            curves[_named(recipe, len(learned))] = _mean_curve(learned)
            monitor = seeds[0].results["checkpoint"]["metric"]
    return draw_learning_curve(curves, metric=monitor, steps="minutes of wall time") if curves else None


def by_length(published: Sequence[Run]) -> Figure | None:
    """BLEU by the length of the source; None where there is nothing to draw."""
    lengths, data = {}, ""
    for recipe, seeds in _recipes(published).items():
        found = [by for run in seeds if (by := run.results.get("bleu_by_source_words"))]
        if found:
            mean = _mean([by["bleu"] for by in found])
            lengths[_named(recipe, len(found))] = (found[0]["mean_length"], mean, found[0]["sentences"])
            data = seeds[0].results["data_set"]
    return draw_bleu_by_length(lengths, title=f"{data}: BLEU by source length") if lengths else None


def _recipes(published: Sequence[Run]) -> Mapping[str, list[Run]]:
    """The runs for which nothing was typed beyond a recipe, by its name."""
    recipes: dict[str, list[Run]] = defaultdict(list)
    for run in published:
        if not run.overrides:
            recipes[run.results["experiment"]].append(run)
    return recipes


def _named(recipe: str, count: int) -> str:
    return recipe if count == 1 else f"{recipe}, {count} seeds"


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    """Of each column."""
    return [statistics.fmean(column) for column in zip(*rows, strict=True)]


def _mean_curve(seeds: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Minutes and value at the steps where all seeds were validated: one may have stopped sooner."""
    shared = set.intersection(*(set(seed["step"]) for seed in seeds))
    seconds, values = (
        _mean([[seed[kind][seed["step"].index(step)] for step in sorted(shared)] for seed in seeds])
        for kind in ("seconds", "value")
    )
    return [second / 60 for second in seconds], values
