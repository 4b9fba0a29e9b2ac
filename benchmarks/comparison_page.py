"""The time of `zoo compare --html` for hundreds of runs, and the size of the page.

Trains one small run and copies it: each copy has a seed and a configuration of its own, and other correct
test items. Prints seconds, MB and the machine.

    python benchmarks/comparison_page.py --configurations 100 --seeds 5
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
import yaml

from zoo.runs.predictions import read_predictions, write_predictions
from zoo.runs.results import config_hash, machine

PROJECT = Path(__file__).parents[1]
_KEPT = ("config.yaml", "results.json", "status.json", "metrics.csv", "figures")


def main(
    configurations: Annotated[int, typer.Option(help="rows of the table")] = 100,
    seeds: Annotated[int, typer.Option(help="runs of each row")] = 5,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        original = _train(folder / "original")
        for number in range(configurations):
            for seed in range(1, seeds + 1):
                _copy(original, folder / "runs" / f"{number}_{seed}", number, seed)
        page = folder / "page.html"
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "zoo", "compare", str(folder / "runs"), "--html", str(page)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        answer = {
            "runs": configurations * seeds,
            "seconds": time.perf_counter() - began,
            "megabytes": page.stat().st_size / 1e6,
            "machine": machine(),
        }
    print(text := json.dumps(answer, indent=2))
    if output:
        output.write_text(f"{text}\n", encoding="utf-8")


def _train(runs: Path) -> Path:
    """One run of a few seconds, with its figures and the predictions of 1,000 test items."""
    line = ["experiment=reverse", "trainer.max_steps=150", "logger=csv"]
    command = [sys.executable, str(PROJECT / "train.py"), *line, f"paths.runs_dir={runs}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (results,) = runs.rglob("results.json")
    return results.parent


def _copy(original: Path, folder: Path, number: int, seed: int) -> None:
    folder.mkdir(parents=True)
    for name in _KEPT:
        path = original / name
        if path.is_dir():
            shutil.copytree(path, folder / name)
        else:
            shutil.copy(path, folder)
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    config["optimizer"]["lr"] = number / 1000
    (folder / "config.yaml").write_text(yaml.safe_dump({**config, "seed": seed}), encoding="utf-8")
    status = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    status["overrides"] = [f"optimizer.lr={number / 1000}", f"seed={seed}"]
    (folder / "status.json").write_text(json.dumps(status), encoding="utf-8")

    draw = random.Random(f"{number} {seed}")
    predictions = read_predictions(original / "predictions.jsonl")
    for item in predictions["test"]:
        item["prediction"] = item["references"][0] if draw.random() < 0.5 + number / 1000 else "wrong"
    write_predictions(folder, predictions)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    right = sum(item["prediction"] in item["references"] for item in predictions["test"])
    results["test"]["exact_match"] = right / len(predictions["test"])
    results |= {"seed": seed, "config_hash": config_hash(config)}
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
