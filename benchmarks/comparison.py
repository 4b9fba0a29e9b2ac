"""The time of `zoo compare` for hundreds of runs, in a terminal and as a page, and the size of the page.

Trains one small run and copies it: each copy has a seed and a configuration of its own, and other correct
test items. Prints seconds, of the clock and of the processor, MB and the machine.

    python benchmarks/comparison.py --configurations 200 --seeds 5
"""

import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
import yaml

from zoo.core.reading import read_yaml
from zoo.metrics.kept_items import kept_items
from zoo.runs.predictions import read_predictions, write_predictions
from zoo.runs.results import config_hash, machine

PROJECT = Path(__file__).parents[1]


def main(
    configurations: Annotated[int, typer.Option(help="rows of the table")] = 200,
    seeds: Annotated[int, typer.Option(help="runs of each row")] = 5,
    kept: Annotated[
        bool, typer.Option(help="results keep the scores of items; else predictions are read")
    ] = True,
    folder: Annotated[Path | None, typer.Option(help="keep the runs here; what is there counts")] = None,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as name:
        runs = folder or Path(name, "runs")
        if not runs.exists():
            original = _train(Path(name, "original"))
            for number in range(configurations):
                _copy(original, runs, number, seeds, kept)
        page = Path(name, "page.html")
        answer = {
            "runs": sum(1 for _ in runs.glob("*/results.json")),
            "terminal": _compare(runs),
            "page": {**_compare(runs, "--html", str(page)), "megabytes": page.stat().st_size / 1e6},
            "machine": machine(),
        }
    print(text := json.dumps(answer, indent=2))
    if output:
        output.write_text(f"{text}\n", encoding="utf-8")


def _compare(runs: Path, *options: str) -> dict[str, float]:
    """Seconds that a comparison takes; those of the processor are the same on a busy machine, nearly."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "zoo", "compare", str(runs), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"seconds": seconds, "processor_seconds": processor}


def _train(runs: Path) -> Path:
    """One run of a few seconds, with its figures and the predictions of 1,000 test items."""
    line = ["experiment=reverse", "trainer.max_steps=150", "logger=csv"]
    command = [sys.executable, str(PROJECT / "train.py"), *line, f"paths.runs_dir={runs}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (results,) = runs.rglob("results.json")
    return results.parent


def _copy(original: Path, folder: Path, number: int, seeds: int, kept: bool) -> None:
    """The runs of one configuration: the higher the learning rate, the more is right."""
    config = read_yaml(original / "config.yaml")
    config["optimizer"]["lr"] = rate = number / 1000
    status = json.loads((original / "status.json").read_text(encoding="utf-8"))
    results = json.loads((original / "results.json").read_text(encoding="utf-8"))
    results |= {"config_hash": config_hash(config), "item_scores": {}}
    items = read_predictions(original / "predictions.jsonl")["test"]
    for seed in range(1, seeds + 1):
        copy = folder / f"{number}_{seed}"
        copy.mkdir(parents=True)
        shutil.copy(original / "metrics.csv", copy)
        shutil.copytree(original / "figures", copy / "figures")
        text = yaml.dump({**config, "seed": seed}, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
        (copy / "config.yaml").write_text(text, encoding="utf-8")
        typed = [f"optimizer.lr={rate}", f"seed={seed}"]
        (copy / "status.json").write_text(json.dumps({**status, "overrides": typed}), encoding="utf-8")
        draw = random.Random(f"{number} {seed}")
        for item in items:
            item["prediction"] = item["references"][0] if draw.random() < 0.5 + rate else "wrong"
        write_predictions(copy, {"test": items})
        results["seed"] = seed
        right = sum(item["prediction"] in item["references"] for item in items)
        results["test"]["exact_match"] = right / len(items)
        if kept:
            results["item_scores"] = kept_items(results, items)
        (copy / "results.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
