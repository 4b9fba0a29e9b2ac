"""Which runs must not be compared: other test items, another way to compute a metric, another vocabulary."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.reports.runs import Run

_NAMED = 2
"""Runs that a message names for each of the things that differ."""


def comparability_errors(runs: Sequence[Run], metric: str) -> list[str]:
    """Why a metric of these runs must not be compared; empty when it may be.

    Args:
        runs: with results; those without any (predictions of another system) are checked item by item.
        metric: what is to be compared.
    """
    measured = [run for run in runs if run.results]
    found = []
    if len({run.fold is None for run in measured}) > 1:
        found += _difference(
            "cross-validation (a mean over folds is of other test items than a test split)",
            measured,
            lambda results: None if results.get("fold") is None else "folds",
        )
        return found
    for fold in dict.fromkeys(run.fold for run in measured):
        of = "" if fold is None else f" of fold {fold}"
        same = [run for run in measured if run.fold == fold]
        found += _difference(
            f"test_hash (the test items{of})", same, lambda results: results.get("test_hash")
        )
    found += _difference(
        f"the signature of {metric}", measured, lambda results: (results.get("signatures") or {}).get(metric)
    )
    if metric == "loss" or any(run.metrics[metric].per_token for run in measured if metric in run.metrics):
        for fold in dict.fromkeys(run.fold for run in measured):
            of = "" if fold is None else f" of fold {fold}"
            found += _difference(
                f"vocabulary_hash{of} (a token of {metric} is not the same thing)",
                [run for run in measured if run.fold == fold],
                lambda results: results.get("vocabulary_hash"),
            )
    return found


def require_comparable(runs: Sequence[Run], metrics: Sequence[str]) -> None:
    """Refuses what cannot be compared.

    Raises:
        ValueError: says all that differs, and in which runs.
    """
    found = list(dict.fromkeys(text for metric in metrics for text in comparability_errors(runs, metric)))
    if found:
        raise ValueError(f"these runs cannot be compared by {', '.join(metrics)}: {'; '.join(found)}")


def _difference(what: str, runs: Sequence[Run], read: Any) -> list[str]:
    having: dict[str | None, list[Path]] = defaultdict(list)
    for run in runs:
        having[read(run.results)].append(run.path)
    if len(having) < 2:
        return []
    remedy = " (`zoo test RUN` writes results that have it)" if None in having else ""
    return [f"{what} differs: {_those(having)}{remedy}"]


def _those(having: Mapping[str | None, Sequence[Path]]) -> str:
    parts = []
    for value, paths in having.items():
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        parts.append(f"{_shown(value)} in {', '.join(map(str, paths[:_NAMED]))}{more}")
    return ", but ".join(parts)


def _shown(value: str | None) -> str:
    """The beginning of a hash, and the whole of what says in words how something is measured."""
    if value is None:
        return "none"
    if " " in value:
        return f'"{value}"'
    return value if "|" in value else value[:12]
