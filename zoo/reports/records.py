"""What results say of their metrics: which values are better, how they are written, how items are scored."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from zoo.config.allowed import locate
from zoo.core.aliases import with_current_names
from zoo.core.reading import read_yaml
from zoo.metrics.item_scores import ITEM_SCORES, ItemScore
from zoo.metrics.measure import ControlRecord, MetricRecord, control_records, metric_records
from zoo.tasks.task import Task

_RECORDS: dict[str, TypeAdapter[Any]] = {
    "metrics": TypeAdapter(dict[str, MetricRecord]),
    "controls": TypeAdapter(dict[str, ControlRecord]),
}


def with_records(results: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Results whose `metrics` and `controls` are records.

    Results of earlier versions have none, or records that do not say what is a share: what the task's class
    declares today counts. The class is named by
    the results, or by config.yaml beside them; of one that is not known here nothing is said.

    Args:
        results: as results.json has them.
        path: of the file.

    Raises:
        ValueError: a record is damaged.
    """
    if "metrics" not in results:
        return {**results, **_declared(results, path)}
    read: dict[str, Any] = {}
    for key, records in _RECORDS.items():
        try:
            read[key] = records.validate_python(results.get(key, {}))
        except ValidationError as error:
            first = error.errors()[0]
            where = "/".join(map(str, (key, *first["loc"])))
            raise ValueError(f"{path}: {where}: {first['msg']}, got {first['input']!r}") from error
    metrics: dict[str, MetricRecord] = read["metrics"]
    if any("share" not in record for record in results["metrics"].values()):
        today = _declared(results, path)["metrics"]
        shares = {name for name, record in today.items() if record.share}
        read["metrics"] = {name: replace(one, share=name in shares) for name, one in metrics.items()}
    return {**results, **read}


def _declared(results: Mapping[str, Any], path: Path) -> dict[str, Any]:
    try:
        target = results.get("task") or read_yaml(path.parent / "config.yaml")["task"]["_target_"]
        task = locate(with_current_names({"_target_": target})["_target_"])
    except (OSError, KeyError, TypeError, ValueError, ImportError):
        return {"metrics": {}, "controls": {}}
    if not issubclass(task, Task):
        return {"metrics": {}, "controls": {}}
    splits = [of for split, of in results.items() if split == "val" or split.startswith("test")]
    measured = {name for of in splits if isinstance(of, dict) for name in of}
    return {
        "unit": task.unit,
        "metrics": metric_records(task.metrics, measured),
        "controls": control_records(task.controls, measured),
    }


def item_score(name: str, tasks: Iterable[object]) -> ItemScore | None:
    """What scores single items, by its name in results.json; None where nothing declares it.

    The modules of tasks declare scores, too. They are looked for by the rule for all that a file names: in
    the zoo, and in packages that the user named.

    Args:
        name: of the score.
        tasks: the tasks that results name.
    """
    for task in dict.fromkeys(tasks):
        if name in ITEM_SCORES:
            break
        try:
            locate(with_current_names({"_target_": task})["_target_"])
        except (TypeError, ValueError, ImportError):  # another task may declare it
            continue
    return ITEM_SCORES.get(name)


def merged(records: Iterable[Mapping[str, MetricRecord]]) -> dict[str, MetricRecord]:
    """The records of several runs, of each metric the first."""
    found: dict[str, MetricRecord] = {}
    for of in records:
        found |= {name: one for name, one in of.items() if name not in found}
    return found
