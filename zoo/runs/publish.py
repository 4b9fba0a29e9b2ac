"""Keeps measured results: `python -m zoo.runs.publish RUN [RUN ...]` in a checkout.

Copies each finished run's results.json to `results/<experiment>/<run>.json`, with its learning curve; then
writes README tables and pictures anew from `results/`. Without a RUN only the latter.
"""

import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.figures.curves import bleu_by_length as draw_bleu_by_length
from zoo.figures.curves import learning_curve as draw_learning_curve
from zoo.figures.png import png
from zoo.metrics import bleu_by_source_words
from zoo.metrics.seeds import seed_difference, summarise
from zoo.runs.comparison.names import label, special, speed_unit
from zoo.runs.files import write_bytes, write_json, write_text
from zoo.runs.predictions import read_predictions
from zoo.runs.status import StatusFile

RESULTS, FAULTS = "results", "faults"
"""Parts of the README that are written here, each between `<!-- PART:begin -->` and `<!-- PART:end -->`."""
_METRICS = (
    "bleu",
    "bleu_tok_lc",
    "chrf",
    "tf_perplexity",
    "cider_d",
    "bleu_1",
    "bleu_2",
    "bleu_3",
    "bleu_4",
    "rouge_l",
    "exact_match",
    "alignment_accuracy",
    "pointing_accuracy",
    "error",
    "error_1_sample",
    "error_10_samples",
    "catch_rate",
    "catch_rate_standard_error",
)
_OF_LANGUAGE = ("bleu", "bleu_tok_lc", "chrf", "tf_perplexity")
_OF_EFFECTS = ("bleu", "bleu_tok_lc", "cider_d", "bleu_4", "exact_match", "error", "catch_rate")
_TO_100 = (*_OF_LANGUAGE, "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l")
"""Those that go up to 100, or beyond."""
_OTHER_ANSWERS = {
    "shuffled": "its captions, of other images",
    "uniform": "all places alike",
    "centre": "the centre of the image",
    "random": "its maps, of other images",
}
"""What stands below a model, to be beaten by it: what was said or looked at, by its name in results.json."""
_WITHOUT_MODEL = {"majority": "the most frequent answer", "constant": "the best constant caption"}
"""The same, below all models of a table."""
_DRAWN = "multi30k_"
"""Beginning of the recipes in the figures: they share a test set."""
_FIGURES = ("bleu_by_source_words", "learning_curve")
_STEP = re.compile(r"(?P<chain>\w+?)_\d+_\w+")
"""The name of a recipe that adds one thing to the one before it."""
_RECOGNITION = re.compile(r"(?:ram|fc|conv)_(?P<data>[a-z]+)(?:_\d+)?")
"""The name of a recipe that recognises images: one table for each data set, as in the paper."""
_CAPTIONS = re.compile(r"(?P<data>shapes|flickr8k|flickr30k|coco)_(?:soft|hard|none)(?P<encoder>_\w+)?")
"""The name of a recipe that writes captions: kinds of attention stand side by side."""


def publish(runs: Sequence[Path], project: Path) -> None:
    """Keeps the runs' results and writes tables and pictures.

    Args:
        runs: folders of finished runs.
        project: the checkout.

    Raises:
        FileNotFoundError: a run has no results.json: it did not finish.
    """
    for run in runs:
        results = json.loads((run / "results.json").read_text(encoding="utf-8"))
        status = StatusFile(run).read()
        results["overrides"] = special(status.overrides)
        # What was learned in another run has its curve, as long as that lies where it lay.
        trained = run if status.tests is None else (run / results["checkpoint"]["file"]).resolve().parents[1]
        if trained == run or (trained / "metrics.csv").exists():
            metric = results["checkpoint"]["metric"]
            results["learning_curve"] = _validation_curve(trained / "metrics.csv", metric)
        if "bleu_tok_lc" in results.get("test", {}) and "bleu_by_source_words" not in results:
            predictions = read_predictions(run / "predictions.jsonl")  # an earlier version's run
            results["bleu_by_source_words"] = bleu_by_source_words(predictions["test"])
        write_json(
            project / "results" / results["experiment"] / f"{label(results)}_seed{results['seed']}.json",
            results,
        )
    published = _published(project / "results")
    readme = project / "README.md"
    text = _replaced(readme.read_text(encoding="utf-8"), RESULTS, tables(published))
    faults = project / "results" / "faults.json"
    if faults.exists():
        text = _replaced(text, FAULTS, fault_table(json.loads(faults.read_text(encoding="utf-8"))))
    write_text(readme, text)
    _draw(published, project / "docs" / "pictures")


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
        label = recipe if len(seeds) == 1 else f"{recipe}, mean of {len(seeds)} seeds"
        by_length, learning = ([seed[kind] for seed in seeds if kind in seed] for kind in _FIGURES)
        lengths[label] = (
            by_length[0]["mean_length"],
            _mean([by["bleu"] for by in by_length]),
            by_length[0]["sentences"],
        )
        if learning:  # that of a run which was only tested may be gone
            curves[label] = _mean_curve(learning)
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


def tables(published: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: for each experiment one row per configuration, mean ± standard deviation over its seeds.

    Recipes named `<chain>_<number>_<what>` are rows of one table, in their order; so are those that recognise
    the same images, and those that describe them with the same encoder. Below the models stand the controls.
    """
    experiments: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for results in published:
        name = results["experiment"]
        if step := _STEP.fullmatch(name):
            name = f"glob({step['chain']}_*)"
        elif recognition := _RECOGNITION.fullmatch(name):
            name = f"glob(*_{recognition['data']}*)"
        elif captions := _CAPTIONS.fullmatch(name):
            name = f"glob({captions['data']}_????{captions['encoder'] or ''})"
        experiments[name].append(results)
    return "".join(_table(name, rows) for name, rows in experiments.items())


def fault_table(faults: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: what was done to trainings, how often, and what it cost, as `tests/faults` measures it."""
    rows = [["fault", "times tried", "what was lost"], ["---"] * 3]
    rows += [[row["fault"], str(row["times"]), row["lost"]] for row in faults]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def _replaced(text: str, part: str, content: str) -> str:
    """The text with another content of a part; as it is when it has no such part."""
    begin, end = f"<!-- {part}:begin -->", f"<!-- {part}:end -->"
    before, marked, rest = text.partition(begin)
    return f"{before}{begin}\n{content}{end}{rest.partition(end)[2]}" if marked else text


def _table(experiment: str, rows: Iterable[Mapping[str, Any]]) -> str:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[(row["config_hash"], row.get("test_hash"), row.get("vocabulary_hash"))].append(row)
    columns = [
        (split, metric)
        for split in sorted(
            {name for group in groups.values() for name in group[0] if name.startswith("test")}
        )
        for metric in _METRICS
        if any(metric in group[0].get(split, {}) for group in groups.values())
        and (metric in _OF_LANGUAGE) == any("bleu_tok_lc" in group[0][split] for group in groups.values())
    ]
    heads = [metric if split == "test" else f"{metric} ({split})" for split, metric in columns]
    speed = speed_unit(next(iter(groups.values()))[0]["per_second"])
    lines = [["run", "seeds", *heads, "parameters", "minutes", f"{speed}/s"]]
    for group in groups.values():
        lines.append(
            [
                label(group[0], of=experiment),
                ", ".join(str(row["seed"]) for row in sorted(group, key=lambda row: int(row["seed"]))),
                *_cells(group, columns),
                f"{group[0]['parameters']:,}",
                _spread([row["seconds"] / 60 for row in group], digits=1),
                f"{statistics.fmean(row['per_second'].get(speed, 0.0) for row in group):,.0f}",
            ]
        )
        lines += _controls(group, columns, _OTHER_ANSWERS)
    # One seed of each: these hardly depend on it, and are alike in most groups.
    without = [line for group in groups.values() for line in _controls(group[:1], columns, _WITHOUT_MODEL)]
    lines += [line for number, line in enumerate(without) if line not in without[:number]]
    machine = next(iter(groups.values()))[0]["machine"]
    cores = machine["cores"]
    where = f"{machine['processor']}, {cores} core{'s' if cores > 1 else ''}, threads: {machine['threads']}"
    body = "".join(f"| {' | '.join(line)} |\n" for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])
    return f"\n**`experiment={experiment}`** ({where})\n\n{body}{_effects(list(groups.values()), columns)}"


def _cells(
    group: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]], control: str | None = None
) -> list[str]:
    """What a group scores, or one of its controls, by column; empty where that was not measured."""
    cells = []
    for split, metric in columns:
        name = metric if control is None else _of_control(control, metric)
        values = [row.get(split, {}).get(name) for row in group]
        cells.append(_spread(values, digits=_digits(metric)))
    return cells


def _of_control(control: str, metric: str) -> str:
    """What results.json calls a metric of a control."""
    return f"pointing_{control}" if metric == "pointing_accuracy" else f"{control}_{metric}"


def _controls(
    group: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]], wanted: Mapping[str, str]
) -> list[list[str]]:
    """A line for each control that was measured."""
    found = [(name, _cells(group, columns, control)) for control, name in wanted.items()]
    return [[f"*{name}*", "", *cells, "", "", ""] for name, cells in found if any(cells)]


def _digits(metric: str) -> int:
    return 1 if metric in _TO_100 else 4 if metric.startswith("error") else 3


def _effects(groups: Sequence[Sequence[Mapping[str, Any]]], columns: Sequence[tuple[str, str]]) -> str:
    """What the overrides of each group change, seed by seed: mean and 95 % interval of the differences.

    The interval is Student's for pairs, so it is wide for few seeds, as it should be.
    """
    recipes = [group for group in groups if not group[0].get("overrides")]
    if len(recipes) != 1:
        return ""
    recipe = {row["seed"]: row for row in recipes[0]}
    lines = []
    for group in groups:
        seeds = sorted({row["seed"] for row in group} & recipe.keys())
        if group is recipes[0] or len(seeds) < 2:
            continue
        own = {row["seed"]: row for row in group}
        parts = []
        for split, metric in columns:
            if metric not in _OF_EFFECTS or split != "test":
                continue
            ours, theirs = ({seed: row[split][metric] for seed, row in of.items()} for of in (own, recipe))
            found = seed_difference(ours, theirs)
            assert found is not None, "they share two seeds"
            digits = _digits(metric)
            interval = f"[{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
            parts.append(f"{metric} {found.difference:+.{digits}f} {interval}")
        over = ", ".join(map(str, seeds))
        lines.append(f"- `{label(group[0])}` against the recipe, over seeds {over}: {'; '.join(parts)}\n")
    return f"\n{''.join(lines)}" if lines else ""


def _spread(values: Sequence[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    found = summarise(known)
    mean = f"{found.mean:.{digits}f}"
    return mean if found.deviation is None else f"{mean} ± {found.deviation:.{digits}f}"


def _published(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*/*.json"))]
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


if __name__ == "__main__":
    publish([Path(argument) for argument in sys.argv[1:]], Path.cwd())
