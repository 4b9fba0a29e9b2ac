"""Small run folders to compare, as train.py leaves them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from zoo.runs.predictions import write_predictions
from zoo.runs.results import config_hash
from zoo.runs.status import State, StatusFile

TARGETS = [f"2020-01-{day:02}" for day in range(1, 21)]
"""References of the test items."""
METRICS = {
    "exact_match": {"better": "max", "digits": 4, "headline": True, "items": "exact_match"},
    "error": {"better": "min", "items": "wrong_answers"},
    "tf_perplexity": {"better": "min", "per_token": True},
    "bleu": {"better": "max", "digits": 2, "items": "bleu"},
    "pointing_accuracy": {"better": "max"},
    "pointing_centre": {"better": None},
}
"""What the runs' task declares."""
MACHINE = {"processor": "Some CPU", "cores": 2, "threads": 1, "gpus": []}


def configuration(score: str, **model: Any) -> dict[str, Any]:
    attention = {"_target_": f"zoo.attention.{score}", "_partial_": True}
    return {
        "attention": attention,
        "model": {"_target_": "zoo.networks.Seq2Seq", "attention": {"score": attention}, "size": 8, **model},
        "data": {"_target_": "data.Toy", "seed": 1},
        "trainer": {"max_steps": 4},
    }


def make_run(
    folder: Path,
    score: str = "Dot",
    seed: int = 1,
    *,
    right: int = 10,
    model: Mapping[str, Any] | None = None,
    **results: Any,
) -> Path:
    """A finished run that gets the first items right, with everything that a comparison reads."""
    config = configuration(score, **(model or {}))
    folder.mkdir(parents=True)
    status = StatusFile(folder)
    status.start([f"attention={score.lower()}", f"seed={seed}", "experiment=toy"])
    (folder / "config.yaml").write_text(yaml.safe_dump({**config, "seed": seed}), encoding="utf-8")
    predictions = [text if number < right else "wrong" for number, text in enumerate(TARGETS)]
    write_predictions(folder, {"test": items(predictions)})
    rows = [f"{step},val/exact_match,{right / 20 * step / 40}" for step in range(10, 50, 10)]
    rows += [f"{step},train/loss,{40 / step}" for step in range(5, 50, 5)]
    (folder / "metrics.csv").write_text("\n".join(["step,name,value", *rows]) + "\n", encoding="utf-8")
    content = {
        "experiment": "toy",
        "name": "toy",
        "seed": seed,
        "checkpoint": {"metric": "val/exact_match", "value": right / 20, "step": 40, "file": "best.ckpt"},
        "test": {"exact_match": right / 20, "tf_perplexity": 3.0 + seed},
        "val": {"exact_match": right / 20},
        "parameters": 1000,
        "seconds": 90.0 + seed,
        "per_second": {"tokens": 1000.0, "sentences": 100.0},
        "peak_memory_bytes": 2**30,
        "machine": MACHINE,
        "versions": {"torch": "2.0"},
        "test_hash": "c0ffee",
        "vocabulary_hash": "beef",
        "config_hash": config_hash(config),
        "signatures": {},
        "metrics": METRICS,
        **results,
    }
    (folder / "results.json").write_text(json.dumps(content), encoding="utf-8")
    status.end(State.FINISHED, exit_code=0)
    return folder


def make_unfinished(folder: Path, state: State, why: Exception | None = None) -> Path:
    folder.mkdir(parents=True)
    StatusFile(folder).start(["attention=dot"])
    StatusFile(folder).end(state, exit_code=1, exception=why)
    return folder


def items(predictions: Sequence[str], targets: Sequence[str] = TARGETS) -> list[dict[str, Any]]:
    return [
        {"id": number, "input": f"day {number}", "references": [targets[number]], "prediction": text}
        for number, text in enumerate(predictions)
    ]


def edit(run: Path, **results: Any) -> Path:
    """Changes what results.json says."""
    path = run / "results.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **results}), encoding="utf-8")
    return run
