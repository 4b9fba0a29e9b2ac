"""Pictures of recipes as they stand, the mean over their seeds."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from zoo.figures.curves import learning_curve as draw_learning_curve
from zoo.figures.curves import score_by_length as draw_score_by_length
from zoo.reports.runs import Run
from zoo.reports.tables import machines


def learning_curves(published: Sequence[Run]) -> Figure | None:
    """The monitored metric over minutes of training; None where there is nothing to draw."""
    curves, monitor = {}, ""
    for recipe, seeds in _recipes(published).items():
        # The same steps take other minutes on another machine, or with another number of cores.
        alike = [run for run in seeds if machines([run]) == machines(seeds[:1])]
        learned = [curve for run in alike if (curve := run.results.get("learning_curve"))]
        if learned:  # a run that only tested a checkpoint may have no curve
            curves[_named(recipe, alike, len(learned))] = _mean_curve(learned)
            monitor = seeds[0].results["checkpoint"]["metric"]
    return draw_learning_curve(curves, metric=monitor, steps="minutes of wall time") if curves else None


def by_length(published: Sequence[Run]) -> Figure | None:
    """A score by the length of the input; None where there is nothing to draw.

    The details of a run say what there is, as `bleu_by_source_words`: `mean_length`, `bleu` and how many
    `sentences`, of each group of like length. Of several such scores the first one is drawn.
    """
    name = next((name for run in published for name in run.results if _is_by_length(run.results[name])), None)
    if name is None:
        return None
    score, _, length = name.partition("_by_")
    curves, items, data = {}, "", ""
    for recipe, seeds in _recipes(published).items():
        # Folds are other test items, whose groups have other lengths.
        if found := [by for run in seeds if run.fold is None and (by := run.results.get(name))]:
            (items,) = found[0].keys() - {"mean_length", score}
            mean = _mean([by[score] for by in found])
            curves[_named(recipe, seeds, len(found))] = (found[0]["mean_length"], mean, found[0][items])
            data = seeds[0].results["data_set"]
    length = length.replace("_", " ")
    title = f"{data}: {score} by {length}"
    if not curves:
        return None
    return draw_score_by_length(curves, score=score, length=length, items=items, title=title)


def by_size(published: Sequence[Run]) -> Figure | None:
    """A share at sizes beyond training, a curve for each seed; None where there is nothing to draw.

    The names of such metrics end in the size, as `wrong_bits_120`. Of several shares the first one is drawn.
    """
    curves, name, data = {}, "", ""
    for recipe, seeds in _recipes(published).items():
        for run in seeds:
            test = run.results["test"]
            shares = [metric for metric, said in run.results["metrics"].items() if said.share]
            sized = [(metric, _sizes(test, metric)) for metric in shares]
            if found := next(((metric, sizes) for metric, sizes in sized if sizes), None):
                name, sizes = found
                data = run.results["data_set"]
                curves[f"{recipe}, seed {run.results['seed']}"] = (list(sizes), list(sizes.values()))
    if not curves:
        return None
    return draw_learning_curve(curves, metric=name, title=f"{data}: {name} by size", steps="size")


def _sizes(test: Mapping[str, float], metric: str) -> Mapping[int, float]:
    """A metric's value at each size."""
    ends = {key.removeprefix(f"{metric}_"): value for key, value in test.items()}
    return dict(sorted((int(end), value) for end, value in ends.items() if end.isdecimal()))


def _is_by_length(detail: object) -> bool:
    return isinstance(detail, dict) and "mean_length" in detail


def _recipes(published: Sequence[Run]) -> Mapping[str, list[Run]]:
    """By each recipe's name, its runs for which nothing else was typed."""
    recipes: dict[str, list[Run]] = defaultdict(list)
    for run in published:
        if not run.overrides:
            recipes[run.results["experiment"]].append(run)
    return recipes


def _named(recipe: str, runs: Sequence[Run], count: int) -> str:
    """With the number of seeds or folds that a curve is the mean of."""
    folds = {run.fold for run in runs if run.fold is not None}
    if folds:
        return f"{recipe}, {len(folds)} folds"
    return recipe if count == 1 else f"{recipe}, {count} seeds"


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each column."""
    return [statistics.fmean(column) for column in zip(*rows, strict=True)]


def _mean_curve(seeds: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Mean minutes and mean value at each step at which every seed was validated; some train longer."""
    shared = set.intersection(*(set(seed["step"]) for seed in seeds))
    seconds, values = (
        _mean([[seed[kind][seed["step"].index(step)] for step in sorted(shared)] for seed in seeds])
        for kind in ("seconds", "value")
    )
    return [second / 60 for second in seconds], values
