"""results.json: what a run measured, and everything needed to know whether two runs may be compared."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from zoo.core.aliases import with_first_names
from zoo.core.files import write_json
from zoo.core.plugins import plugin_versions
from zoo.core.spec import DataSpec
from zoo.kernels.precision import multiplies_bfloat16
from zoo.metrics.measure import control_records, metric_records
from zoo.runtime.precision import EXACT
from zoo.tasks.task import Task
from zoo.training.checkpoint import Checkpoint

_PACKAGES = (
    "attention-zoo",
    "torch",
    "torchvision",
    "lightning",
    "torchmetrics",
    "hydra-core",
    "tokenizers",
    "datasets",
    "sacrebleu",
    "sacremoses",
    "numpy",
    "babel",  # writes the built-in dates
)
_HASHED_GROUPS = ("attention", "selection", "model", "data", "task", "optimizer", "scheduler", "decoding")
# The run's seed orders the batches; a corpus has a seed of its own, which counts. All folds are one group.
_NOT_HASHED_DATA = ("seed", "fold", "num_workers", "worker_timeout", "train", "val", "test")
"""Files of one's own may lie anywhere; test_hash and vocabulary_hash tell what is in them."""
# What the trainer contributes to the result: precision and budget.
_HASHED_TRAINER = (
    "precision",
    "max_epochs",
    "max_steps",
    "max_time",
    "limit_train_batches",
    "gradient_clip_val",
    "gradient_clip_algorithm",
)
# A batch is shared by all of them, so they change nothing; one hash tells of them as of one device.
_LAYOUT = ("accumulate_grad_batches", "devices", "num_nodes")


def results(
    *,
    config: Mapping[str, Any],
    task: type[Task],
    spec: DataSpec,
    checkpoint: Checkpoint,
    folder: Path,
    test: Mapping[str, float],
    test_splits: Sequence[str],
    parameters: int,
    seconds: float,
    per_second: Mapping[str, float],
    peak_memory_bytes: int,
    signatures: Mapping[str, str],
    seconds_of_test: float | None = None,
    trained_on: Mapping[str, Any] | None = None,
    details: Mapping[str, Any] | None = None,
    data: Mapping[str, Mapping[str, float]] | None = None,
    monitor_unchanged: Mapping[str, Any] | None = None,
    fold: int | None = None,
    folds: int | None = None,
) -> dict[str, Any]:
    """Everything that results.json says.

    Args:
        config: the resolved configuration in plain containers.
        task: says how each metric is to be read.
        spec: the data.
        checkpoint: the weights that were tested; its validation metrics are the `val` part.
        folder: the run's folder.
        test: logged test metrics, `<split>/<metric>`; other keys are ignored.
        test_splits: the splits, `test` first; each becomes a part of its own with the stage stripped.
        parameters: trainable parameters.
        seconds: wall-clock time of the fit, validation included.
        per_second: what was processed per second of training.
        peak_memory_bytes: the most memory used in training.
        signatures: how each metric was computed, by its name.
        seconds_of_test: wall-clock time of the test of all splits; None when there was none.
        trained_on: the machine of the training, to which its costs belong; this one by default.
        details: what the task says of the test besides metrics, by key.
        data: for each split how many items there are, how many were left out or cut, and the share of unknown
            words.
        monitor_unchanged: of a monitor that had one value at every validation how many these were and which
            metric could take its place.
        fold: which part of the data was tested, of data that is cross-validated.
        folds: how many parts there are.
    """
    metric = checkpoint.metric
    measured = {name.partition("/")[2] for name in (*test, *checkpoint.metrics)}
    return {
        "experiment": config.get("experiment"),
        "name": config.get("name"),
        "sweep": (config.get("sweep") or {}).get("name"),
        "seed": config.get("seed"),
        **({} if fold is None else {"fold": fold, "folds": folds}),
        "checkpoint": {
            "file": os.path.relpath(checkpoint.path.resolve(), Path(folder).resolve()),
            "step": checkpoint.step,
            "metric": None if metric is None else metric[0],
            "value": None if metric is None else metric[1],
            **({} if monitor_unchanged is None else {"monitor_unchanged": dict(monitor_unchanged)}),
        },
        **{split: _strip(test, split) for split in test_splits},
        "val": _strip(checkpoint.metrics, "val"),
        "parameters": parameters,
        "seconds": seconds,
        **({} if seconds_of_test is None else {"seconds_of_test": seconds_of_test}),
        "per_second": dict(per_second),
        "peak_memory_bytes": peak_memory_bytes,
        "machine": machine() if trained_on is None else dict(trained_on),
        "versions": versions(),
        "commit": commit(),
        **({} if data is None else {"data": data}),
        "test_hash": spec.test_hash,
        "vocabulary_hash": spec.vocabulary_hash,
        "config_hash": config_hash(config),
        "task": config["task"].get("_target_"),
        "model": config["model"].get("_target_"),
        "data_set": spec.name,
        "unit": task.unit,
        "metrics": _plain(metric_records(task.metrics, measured)),
        "controls": _plain(control_records(task.controls, measured)),
        "signatures": dict(signatures),
        **(details or {}),
    }


def _plain(records: Mapping[str, Any]) -> dict[str, Any]:
    return {name: asdict(record) for name, record in records.items()}


def write_results(folder: Path, values: Mapping[str, Any]) -> None:
    """Writes results.json, whole or not at all."""
    write_json(Path(folder) / "results.json", values)


def config_hash(config: Mapping[str, Any]) -> str:
    """One hash for all runs that differ in nothing but seed, fold, paths, logging: a group in comparisons."""
    text = json.dumps(hashed_config(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def hashed_config(config: Mapping[str, Any]) -> Any:
    """The part of a resolved configuration that can change a result: not seed, fold, paths, logging."""
    trainer = config.get("trainer") or {}
    chosen = {key: config.get(key) for key in _HASHED_GROUPS}
    data = {key: value for key, value in config["data"].items() if key not in _NOT_HASHED_DATA}
    if images := data.get("images"):
        data["images"] = {key: value for key, value in images.items() if key != "path"}
    chosen["data"] = data
    chosen["trainer"] = {key: trainer.get(key) for key in _HASHED_TRAINER} | dict.fromkeys(_LAYOUT, 1)
    if (share := trainer.get("limit_test_batches")) is not None:  # which all but trials leave alone
        chosen["limit_test_batches"] = share
    if (products := config.get("matmul_precision", EXACT)) != EXACT:
        chosen["matmul_precision"] = products
    if averaging := (config.get("callbacks") or {}).get("averaging"):
        chosen["averaging"] = averaging
    roots = tuple(str(path) for path in (config.get("paths") or {}).values() if path)
    return with_first_names(_without_paths(_with_lengths(chosen, data.get("maximum_length")), roots))


def machine() -> dict[str, Any]:
    """What this process runs on."""
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "bfloat16": bool(gpus) or multiplies_bfloat16("cpu"),  # without, bf16-mixed is float32
        "gpus": gpus,
    }


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Versions of Python and of everything that can change a number."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | plugin_versions()


def commit() -> str | None:
    """The commit of this source code, `-dirty` when files differ from it; None where it is not under git."""
    source = Path(__file__).parents[1]
    try:
        # Inside somebody else's repository (an environment installed there) the package is not tracked.
        _git(source, "ls-files", "--error-unmatch", "__init__.py")
        return _git(source, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _strip(metrics: Mapping[str, float], stage: str) -> dict[str, float]:
    prefix = f"{stage}/"
    chosen = {name: value for name, value in metrics.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): float(value) for name, value in chosen.items()}


def _with_lengths(node: Any, longest: int | None) -> Any:
    """Names the length that a network gives to a location score, as configurations of kept results did."""
    if isinstance(node, Mapping):
        if node.get("_target_") == "zoo.attention.Location" and node.get("maximum_length") is None:
            node = {**node, "maximum_length": longest}
        return {key: _with_lengths(value, longest) for key, value in node.items()}
    return [_with_lengths(value, longest) for value in node] if isinstance(node, list) else node


def _without_paths(node: Any, roots: tuple[str, ...]) -> Any:
    """Drops every text that is or lies below one of the configured paths."""
    if isinstance(node, Mapping):
        kept = {key: value for key, value in node.items() if not _is_path(value, roots)}
        return {key: _without_paths(value, roots) for key, value in kept.items()}
    if isinstance(node, list):
        return [_without_paths(value, roots) for value in node if not _is_path(value, roots)]
    return node


def _is_path(value: Any, roots: tuple[str, ...]) -> bool:
    return isinstance(value, str) and any(f"{value}{os.sep}".startswith(f"{root}{os.sep}") for root in roots)
