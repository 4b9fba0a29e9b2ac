"""Finds and reads runs to compare; a damaged one is left out with the reason and stops no comparison."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeGuard

from zoo.core.reading import read_json
from zoo.metrics.measure import ControlRecord, MetricRecord
from zoo.reports.records import with_records
from zoo.runs.status import State, StatusFile
from zoo.sweeps.record import RECORD, read_sweep
from zoo.training.checkpoint import nearest

VALIDATION = "val"
"""The split by which checkpoints are picked; results of a run that was not tested have it, too."""
_RESULTS, _STATUS, _PREDICTIONS = "results.json", "status.json", "predictions.jsonl"
_NOT_RESULTS = ("sweep.json", "optimization_results.json", "faults.json")
_NEEDED = {"config_hash": str, "test": dict, "seed": int}
_KINDS: dict[str, type] = {
    **_NEEDED,
    **dict.fromkeys(("experiment", "test_hash", "vocabulary_hash", "task", "model", "data_set", "unit"), str),
    **dict.fromkeys(("signatures", "checkpoint", "per_second", "machine", "versions"), dict),
    **dict.fromkeys(("fold", "folds"), int),
    "overrides": list,
}
"""Types of the values that a comparison reads; those that are not needed may be null or missing."""
_LARGEST = sys.float_info.max**0.2
"""Tests over seeds take the fourth power of a number, which must stay finite."""


@dataclass(frozen=True)
class Run:
    """A run's folder, its kept results, or predictions of any system.

    Attributes:
        path: of the folder or file.
        state: of the run, as status.json says it; `predictions` of predictions alone.
        left_out: why it is no part of the comparison; None when it is.
        results: the content of results.json; empty for predictions alone.
        overrides: what was typed for it.
        scored: scores computed from predictions without results, by split and metric.
    """

    path: Path
    state: str
    left_out: str | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    scored: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def is_untested(self) -> bool:
        """Whether it was trained with `test=false`: then its results have `val` alone, as `left_out` says."""
        return bool(self.results) and "test" not in self.results

    @property
    def seed(self) -> int | None:
        """Of the run; None when unknown."""
        return self.results.get("seed")

    @property
    def fold(self) -> int | None:
        """Which part of its data it was tested on, in a cross-validation; else None."""
        return self.results.get("fold")

    @property
    def place(self) -> tuple[int | None, int | None]:
        """Its fold and its seed: what tells it from the other runs of its configuration."""
        return self.fold, self.seed

    @property
    def metrics(self) -> Mapping[str, MetricRecord]:
        """How each metric is to be read."""
        return self.results.get("metrics") or {}

    @property
    def controls(self) -> Mapping[str, ControlRecord]:
        """Which controls were scored, by name."""
        return self.results.get("controls") or {}

    @property
    def headline(self) -> str | None:
        """The metric that stands for the run where there is room for one."""
        return next((name for name, one in self.metrics.items() if one.headline), None)

    @property
    def predictions(self) -> Path | None:
        """Its predictions.jsonl, where there is one."""
        path = self.path if self.path.suffix == ".jsonl" else self.path / _PREDICTIONS
        return path if path.is_file() else None

    @property
    def splits(self) -> list[str]:
        """The test splits of its results."""
        return [name for name, part in self.results.items() if name.startswith("test") and _is_part(part)]

    def measured(self, split: str) -> Mapping[str, float]:
        """Every metric of a split."""
        return self.results.get(split) or self.scored.get(split) or {}

    def value(self, split: str, metric: str) -> float | None:
        """The value of a metric; None where it was not measured or is not finite."""
        value = self.measured(split).get(metric)
        return float(value) if is_number(value) else None


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number whose fourth power is finite."""
    return isinstance(value, int | float) and abs(value) <= _LARGEST  # which NaN is not either


def find_runs(paths: Sequence[Path]) -> list[Run]:
    """Every run that is named or lies below a named folder, each once, in that order.

    Args:
        paths: runs, sweeps, folders of many, kept `results/*.json`, or `predictions.jsonl` files.

    Raises:
        ValueError: a path does not exist, or holds no run.
    """
    found: dict[Path, Run] = {}
    for path in paths:
        if not os.path.exists(path):  # unlike `Path.exists`, for names of any length
            raise ValueError(f"{path} does not exist{nearest(path)}")
        below = list(_below(path))
        if not below:
            raise ValueError(f"{path} holds no run: neither {_STATUS} nor {_RESULTS} lies in or below it")
        for one in below:
            if one.resolve() not in found:
                found[one.resolve()] = read_run(one)
    return list(found.values())


def by_data_set(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs by the data set they were tested on; those of which it is not known stand with the first ones."""
    names = list(dict.fromkeys(str(run.results["data_set"]) for run in runs if "data_set" in run.results))
    sets: dict[str, list[Run]] = {name: [] for name in names or [""]}
    for run in runs:
        sets[str(run.results.get("data_set", next(iter(sets))))].append(run)
    return sets


def _below(path: Path) -> Iterator[Path]:
    if path.is_file() or (path / _PREDICTIONS).is_file():
        yield path
        return
    for folder, folders, files in os.walk(path):
        if RECORD in files:
            yield from _gone(Path(folder))
        if _STATUS in files or _RESULTS in files:
            yield Path(folder)
            folders.clear()  # what lies in a run belongs to it
            continue
        folders.sort()
        for name in sorted(files):
            if name.endswith(".json") and name not in _NOT_RESULTS and _is_kept(Path(folder, name)):
                yield Path(folder, name)


def _gone(sweep: Path) -> Iterator[Path]:
    """Jobs of a sweep whose folders are gone: a mean over the other seeds must not pass for one over all."""
    try:
        jobs = read_sweep(sweep).jobs
    except ValueError:  # the runs that are there speak for themselves
        return
    yield from (job.folder for job in jobs if not job.folder.exists())


def _is_kept(path: Path) -> bool:
    """Whether a JSON file among others is the results of a run; other JSON is somebody else's."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "config_hash" in content and "test" in content


def read_run(path: Path) -> Run:
    """Reads a run's folder or a kept file; one that cannot be read says so in `left_out`."""
    try:
        if not path.exists():
            return Run(path, "gone", f"its folder is gone, a job by {path.parent / RECORD}")
        if path.is_file():
            return _read_file(path)
        state, overrides = State.FINISHED, tuple[str, ...]()
        if (path / _STATUS).is_file():
            status = StatusFile(path).read()
            state, overrides = status.state, tuple(map(str, status.overrides))
            if state is not State.FINISHED:
                reason = str(status.exception or "").partition("\n")[0]
                verb = "was" if state is State.KILLED else "is"
                return Run(path, state, reason or f"it {verb} {state}", {}, overrides)
        if (path / _RESULTS).is_file():
            run = Run(path, state, None, _results(path / _RESULTS), overrides)
            remedy = f"it was not tested: `zoo test {path}` does that, `--split val` compares without"
            return replace(run, left_out=remedy) if run.is_untested else run
        if (path / _STATUS).is_file():
            return Run(path, state, f"it was not tested: there is no {_RESULTS}", {}, overrides)
        return Run(path, "predictions")
    except (OSError, ValueError, TypeError, OverflowError) as error:
        return Run(path, "unreadable", " ".join(str(error).split()))


def _read_file(path: Path) -> Run:
    if path.suffix == ".jsonl":
        return Run(path, "predictions")
    results = _results(path)
    return Run(path, State.FINISHED, None, results, tuple(map(str, results.get("overrides") or ())))


def _results(path: Path) -> dict[str, Any]:
    """Reads results.json; those of a run whose test was left for later have no `test`.

    Raises:
        ValueError: it is not one of ours; the message says why.
    """
    results = read_json(path, parse_int=_integer)
    if not isinstance(results, dict):
        raise ValueError(f"{path} is not the results of a run: an object is needed")
    kinds = {key: kind for key, kind in _KINDS.items() if key != "test" or "val" not in results}
    kinds |= {split: dict for split in ("test", VALIDATION) if split in results}
    for key, kind in kinds.items():
        value = results.get(key)
        if type(value) is not kind and (key in _NEEDED or value is not None):  # true is no seed
            what = f"got {value!r}" if key in results else "there is none"
            raise ValueError(f"{path} is not the results of a run: {key!r} must be {kind.__name__}, {what}")
    for split, values in results.items():
        if split.startswith(("test", VALIDATION)) and _is_part(values):
            for name, value in values.items():
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise ValueError(f"{path}: {split}/{name} must be a number, got {value!r}")
    for name, signature in (results.get("signatures") or {}).items():
        if not isinstance(signature, str):
            raise ValueError(f"{path}: signatures/{name} must be str, got {signature!r}")
    return with_records(results, path)


def _integer(digits: str) -> int | float:
    """A whole number; one beyond 64 bits as a float, which may be infinite."""
    value = int(digits)
    return value if abs(value) < 2**63 else float(digits)


def _is_part(values: object) -> bool:
    """Whether a part of the results holds metrics."""
    return isinstance(values, dict)
