"""Kept results of small runs, as tables read them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from zoo.reports.records import with_records
from zoo.reports.runs import Run
from zoo.runs.status import State

MACHINE = {"processor": "Some CPU", "cores": 2, "threads": 2}
TASKS = {
    "cider_d": "zoo.tasks.captioning.CaptioningTask",
    "error": "zoo.tasks.recognition.RecognitionTask",
    "exact_match": "zoo.tasks.translation.TranslationTask",
}
"""A task that measures a metric."""


def results(
    experiment: str = "toy", seed: int = 1, *overrides: str, data_set: str = "toy", **test: float
) -> dict[str, Any]:
    """What a run of whichever task measures the metrics left behind."""
    return {
        "experiment": experiment,
        "name": experiment,
        "overrides": list(overrides),
        "seed": seed,
        "checkpoint": {
            "file": "checkpoints/best.ckpt",
            "step": 4,
            "metric": "val/exact_match",
            "value": 0.5,
        },
        "test": test,
        "test_hash": "c0ffee",
        "val": {},
        "task": next((task for metric, task in TASKS.items() if metric in test), TASKS["exact_match"]),
        "model": "zoo.networks.Seq2Seq",
        "data_set": data_set,
        "parameters": 12345,
        "seconds": 60.0 + seed,
        "per_second": {"tokens": 1000.4},
        "peak_memory_bytes": 1_234_000_000,
        "machine": MACHINE,
        "config_hash": experiment + "".join(overrides),
    }


def read(rows: Iterable[Mapping[str, Any]]) -> list[Run]:
    """The runs that kept results speak for."""
    return [
        Run(
            Path(f"{number}.json"),
            State.FINISHED,
            None,
            with_records(row, Path(f"{number}.json")),
            tuple(row.get("overrides", ())),
        )
        for number, row in enumerate(rows)
    ]
