"""Keeps measured results: `python -m zoo.reports.publish [RUN or SWEEP ...]` in a checkout.

Copies each finished run's results.json to `results/<experiment>/<run>.json`, with its learning curve; then
writes the tables and pictures of README and docs anew from `results/`. Without a RUN only the latter. Of a
sweep its finished runs are kept, and the others are named.
"""

import csv
import hashlib
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.core.files import write_bytes, write_json
from zoo.core.problems import ConfigError
from zoo.core.reading import read_json
from zoo.figures.curves import bleu_by_length as draw_bleu_by_length
from zoo.figures.curves import learning_curve as draw_learning_curve
from zoo.figures.png import png
from zoo.metrics import bleu_by_source_words, signed_language
from zoo.reports.comparison.names import label, special
from zoo.reports.pages import write_pages
from zoo.reports.tables import machines
from zoo.runs.predictions import read_predictions
from zoo.runs.results import config_hash
from zoo.runs.status import StatusFile
from zoo.sweeps.record import RECORD, read_sweep

_DRAWN = "multi30k_"
"""Beginning of the recipes in the figures: they share a test set."""
_LONGEST_NAME = 120


def publish(runs: Sequence[Path], project: Path) -> None:
    """Keeps the runs' results and writes tables and pictures.

    Args:
        runs: folders of finished runs.
        project: the checkout.

    Raises:
        FileNotFoundError: a run has no results.json: it did not finish.
    """
    for run in runs:
        results = read_json(run / "results.json")
        status = StatusFile(run).read()
        results["overrides"] = special(status.overrides)
        if results["overrides"] and _repeats_recipe(results, project / "conf"):
            results["recipe"] = True
        # What was learned in another run has its curve, as long as that lies where it lay.
        trained = run if status.tests is None else (run / results["checkpoint"]["file"]).resolve().parents[1]
        if trained == run or (trained / "metrics.csv").exists():
            metric = results["checkpoint"]["metric"]
            results["learning_curve"] = _validation_curve(trained / "metrics.csv", metric)
        if "bleu_tok_lc" in results.get("test", {}) and "bleu_by_source_words" not in results:
            predictions = read_predictions(run / "predictions.jsonl")  # an earlier version's run
            language = signed_language(results.get("signatures", {}).get("bleu_tok_lc", ""))
            results["bleu_by_source_words"] = bleu_by_source_words(predictions["test"], language)
        write_json(project / "results" / results["experiment"] / _file_name(results), results)
    kept = published(project / "results")
    write_pages(project, kept)
    _draw(kept, project / "docs" / "pictures")


def _repeats_recipe(results: Mapping[str, Any], conf: Path) -> bool:
    """Whether what was typed is what the recipe says anyway."""
    resolvers.register()
    try:
        (recipe,) = compose_jobs(conf, [f"experiment={results['experiment']}"], multirun=False)
    except ConfigError:  # the file of a recipe may lie elsewhere
        return False
    return bool(config_hash(recipe.config) == results["config_hash"])


def _file_name(results: Mapping[str, Any]) -> str:
    """Says what was typed, as far as a name may be long; `/` of a group within a group is no folder."""
    name = label(results).replace("/", "-")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"{name}_seed{results['seed']}.json"


def _draw(published: Sequence[Mapping[str, Any]], pictures: Path) -> None:
    """Writes the figures: a curve for each recipe, the mean over its seeds."""
    recipes: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for results in published:
        if results["experiment"].startswith(_DRAWN) and not results.get("overrides"):
            recipes[results["experiment"]].append(results)
    if not recipes:
        return
    lengths, curves = {}, {}
    for recipe, seeds in recipes.items():

        def named(count: int, recipe: str = recipe) -> str:
            return recipe if count == 1 else f"{recipe}, {count} seeds"

        by_length = [seed["bleu_by_source_words"] for seed in seeds if "bleu_by_source_words" in seed]
        # Minutes on other machines, or on more of its cores, are other minutes.
        alike = [seed for seed in seeds if machines([seed]) == machines(seeds[:1])]
        learning = [seed["learning_curve"] for seed in alike if "learning_curve" in seed]
        lengths[named(len(seeds))] = (
            by_length[0]["mean_length"],
            _mean([by["bleu"] for by in by_length]),
            by_length[0]["sentences"],
        )
        if learning:  # that of a run which was only tested may be gone
            curves[named(len(learning))] = _mean_curve(learning)
    title = "Multi30k test 2016: BLEU by source length"
    write_bytes(pictures / "bleu_by_length.png", png(draw_bleu_by_length(lengths, title=title)))
    if not curves:
        return
    figure = draw_learning_curve(curves, metric="val/bleu (greedy)", steps="minutes of wall time")
    write_bytes(pictures / "learning_curve.png", png(figure))


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    """Of each column."""
    return [statistics.fmean(column) for column in zip(*rows, strict=True)]


def _mean_curve(seeds: Sequence[Mapping[str, Sequence[float]]]) -> tuple[list[float], list[float]]:
    """Minutes and value at the steps where all seeds were validated: one may have stopped sooner."""
    shared = set.intersection(*(set(seed["step"]) for seed in seeds))
    seconds, values = (
        _mean([[seed[kind][seed["step"].index(step)] for step in sorted(shared)] for seed in seeds])
        for kind in ("seconds", "value")
    )
    return [second / 60 for second in seconds], values


def published(folder: Path) -> list[dict[str, Any]]:
    """The results of all runs that are kept in a folder `results`; what stands there besides is left out."""
    found = [read_json(path) for path in sorted(folder.glob("*/*.json"))]
    return [results for results in found if "experiment" in results]


def _validation_curve(metrics: Path, metric: str) -> dict[str, list[float]]:
    """The monitored metric at every validation: step, wall-clock seconds of training, value."""
    seconds, curve = 0.0, []
    with metrics.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["name"] == "train/seconds":
                seconds = float(row["value"])
            elif row["name"] == metric:
                curve.append((int(row["step"]), seconds, float(row["value"])))
    steps, times, values = zip(*curve, strict=True)
    return {"step": list(steps), "seconds": list(times), "value": list(values)}


def runs_of(folders: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The runs that folders stand for: themselves, or the finished jobs of a sweep, and its other jobs."""
    runs: list[Path] = []
    others: list[Path] = []
    for folder in folders:
        if not (folder / RECORD).exists():
            runs.append(folder)
            continue
        for job in read_sweep(folder).jobs:
            (runs if (job.folder / "results.json").exists() else others).append(job.folder)
    return runs, others


def main(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="runs or sweeps", exists=True, file_okay=False)
    ] = None,
) -> None:
    """Keeps the results of runs, and writes the tables and pictures of README and docs from what is kept."""
    finished, unfinished = runs_of(folders or [])
    for run in finished:
        if not (run / "results.json").exists():
            raise typer.BadParameter(f"{run} has no results.json: it is no run, or did not finish")
        if json.loads((run / "results.json").read_text(encoding="utf-8"))["experiment"] is None:
            raise typer.BadParameter(f"{run} has no experiment=, by which results are kept")
    publish(finished, Path.cwd())
    for run in unfinished:
        print(f"left out: {run} has no results.json: it did not finish", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
