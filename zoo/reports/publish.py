"""Keeps measured results: `python -m zoo.reports.publish [RUN or SWEEP ...]` in a checkout.

Copies each finished run's results.json to `results/<experiment>/<run>.json`, with its learning curve; then
writes the tables and pictures of README and docs anew from `results/`. Without a RUN only the latter. Of a
sweep its finished runs are kept, and the others are named. A file in `results/` that no table can show is
named, stops no page, and makes the exit code 1.
"""

import csv
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError

from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.core.files import write_json
from zoo.core.problems import ConfigError
from zoo.core.reading import read_json
from zoo.metrics.kept_items import kept_items
from zoo.reports.names import label
from zoo.reports.pages import write_pages
from zoo.reports.runs import Run, read_run
from zoo.runs.predictions import find_predictions, read_split
from zoo.runs.results import config_hash
from zoo.runs.status import StatusFile
from zoo.runs.typed import special
from zoo.sweeps.record import RECORD, read_sweep
from zoo.training.exported import override_without_place

_BUILDS_ON = ("model.pretrained", "data.tokenizer.run")
"""Settings that name the run on which a recipe builds: it is that recipe whichever run it is."""
_LONGEST_NAME = 120


def publish(runs: Sequence[Path], project: Path) -> list[str]:
    """Keeps the runs' results and writes tables and pictures.

    Args:
        runs: folders of finished runs.
        project: the checkout.

    Returns:
        A line for each file in `results/` that no table can show.

    Raises:
        ValueError: a run did not finish, or no table could show it; nothing is kept.
    """
    for run in runs:
        if reason := _unpublishable(read_run(run)):
            raise ValueError(f"{run}: {reason}")
    for run in runs:
        results = read_json(run / "results.json")
        status = StatusFile(run).read()
        results["overrides"] = [override_without_place(override) for override in special(status.overrides)]
        if results["overrides"] and (
            all(override.partition("=")[0] in _BUILDS_ON for override in results["overrides"])
            or _repeats_recipe(results, project / "conf")
        ):
            results["recipe"] = True
        if "item_scores" not in results:  # the run is of a version that kept none
            results["item_scores"] = _item_scores(run, results)
        # What was learned in another run has its curve, as long as that lies where it lay.
        trained = run if status.tests is None else (run / results["checkpoint"]["file"]).resolve().parents[1]
        if trained == run or (trained / "metrics.csv").exists():
            metric = results["checkpoint"]["metric"]
            results["learning_curve"] = _validation_curve(trained / "metrics.csv", metric)
        write_json(project / "results" / results["experiment"] / _file_name(results), results)
    kept, refused = published(project / "results")
    write_pages(project, kept)
    return refused


def _item_scores(run: Path, results: Mapping[str, Any]) -> dict[str, Any]:
    """What the predictions of a run say of single items; nothing where they are gone or damaged."""
    try:
        return kept_items(results, read_split(find_predictions(run), "test"))
    except (OSError, ValueError):
        return {}


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
    fold = "" if results.get("fold") is None else f"_fold{results['fold']}"
    return f"{name}{fold}_seed{results['seed']}.json"


def published(folder: Path) -> tuple[list[Run], list[str]]:
    """The runs that are kept in a folder `results`, and a line for each file that no table can show.

    What else stands there, such as the numbers of a benchmark, is left out.
    """
    runs, refused = [], []
    for path in sorted(folder.glob("*/*.json")):
        if _is_other(path):
            continue
        run = read_run(path)
        if reason := _unpublishable(run):
            refused.append(reason if reason.startswith(str(path)) else f"{path}: {reason}")
        else:
            runs.append(run)
    return runs, refused


def _is_other(path: Path) -> bool:
    """Whether a file can be read and says nothing of an experiment."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "experiment" not in content


class _Machine(BaseModel):
    processor: str
    cores: int
    threads: int


class _Published(BaseModel):
    """What the tables read besides metrics."""

    experiment: str
    task: str
    model: str
    data_set: str
    parameters: int
    seconds: float
    per_second: dict[str, float]
    peak_memory_bytes: int
    machine: _Machine


def _unpublishable(run: Run) -> str | None:
    """Why no table can show a run; None where they can."""
    if run.left_out or not run.results:
        return run.left_out or "there is no results.json: it is no run, or did not finish"
    try:
        _Published.model_validate(run.results)
    except ValidationError as error:
        first = error.errors()[0]
        return (
            f"{'/'.join(map(str, first['loc']))}: {first['msg']}; `zoo test RUN` writes results that have it"
        )
    if run.headline is None or run.value("test", run.headline) is None:
        measured = ", ".join(run.measured("test"))
        return f"none of what its test measured is its task's headline, or its task is not known: {measured}"
    return None


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
    try:
        refused = publish(finished, Path.cwd())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    for run in unfinished:
        print(f"left out: {run} has no results.json: it did not finish", file=sys.stderr)
    for line in refused:
        print(f"refused: {line}", file=sys.stderr)
    if refused:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
