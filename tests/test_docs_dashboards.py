"""docs/dashboards.md: its tables are what the code says, and every name that is logged stands there."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from zoo.attention.reinforce import ReinforceTerms
from zoo.config.allowed import locate
from zoo.core.metrics_csv import read_metrics
from zoo.metrics import Measure

PROJECT = Path(__file__).parents[1]
GUIDE = (PROJECT / "docs" / "dashboards.md").read_text(encoding="utf-8")
TASKS = sorted(path.stem for path in (PROJECT / "conf" / "task").glob("*.yaml"))
BETTER = {"max": "high", "min": "low", None: ""}
HIDDEN = "model.hidden_size=8"
SMALL = {
    "translation": ["data=reverse", "selection=hard", "decoding=greedy", HIDDEN],
    "captioning": ["model=show_attend_tell", "selection=hard", "decoding=greedy", HIDDEN],
    "recognition": ["experiment=ram_digits", HIDDEN],
    "tracking": ["experiment=ram_tracking", HIDDEN],
    "memory": ["experiment=copy_lstm"],
    "classification": ["experiment=document_hierarchical", "selection=hard", HIDDEN],
    "matching": ["experiment=counterparts_attentive", "selection=hard", HIDDEN],
    "masked_language_modelling": ["experiment=stdlib_bert", "model.layers=1"],
    "language_modelling": ["experiment=stdlib_gpt", "model.layers=1"],
}


def _read(*parts: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(PROJECT.joinpath("conf", *parts).read_text(encoding="utf-8"))
    return loaded


def _declared(task: str) -> dict[str, Measure]:
    found: dict[str, Measure] = locate(_read("task", f"{task}.yaml")["task"]["_target_"]).metrics  # type: ignore[attr-defined]
    return found


DECLARED = {task: _declared(task) for task in TASKS}
METRICS = {name: one.better for metrics in DECLARED.values() for name, one in metrics.items()}


def _metrics() -> Iterator[str]:
    for name, better in METRICS.items():
        tasks = [task for task in TASKS if name in DECLARED[task]]
        yield f"| `{name}` | {BETTER[better]} | {', '.join(tasks)} |"


def _sweeps() -> Iterator[str]:
    for path in sorted((PROJECT / "conf" / "sweep").glob("wandb_*.yaml")):
        sweep = _read("sweep", path.name)
        recipe = next(part for part in sweep["command"] if part.startswith("experiment="))
        drawn = ", ".join(f"`{name}`" for name in sweep["parameters"])
        metric = sweep["metric"]
        yield f"| `{path.name}` | `{recipe}` | `{metric['name']}` | {metric['goal']} | {drawn} |"


@pytest.mark.parametrize(("name", "rows"), [("metrics", _metrics), ("sweeps", _sweeps)])
def test_a_table_is_what_the_code_says(name: str, rows: Callable[[], Iterator[str]]) -> None:
    found = re.search(rf"<!-- begin {name} -->\n(?:.*\n){{2}}((?:.*\n)*?)<!-- end {name} -->", GUIDE)
    assert found
    expected = "".join(f"{row}\n" for row in rows())
    assert found[1] == expected, f"the table must be:\n{expected}"


def test_the_terms_of_an_estimator_are_named() -> None:
    assert [name for name in ReinforceTerms._fields if f"`train/{name}`" not in GUIDE] == []


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_name_that_a_run_logs_stands_there(task: str, start: Callable[..., int], runs: Path) -> None:
    assert start("trainer=debug", *SMALL[task], "logger=csv") == 0
    (file,) = runs.glob("*/*/metrics.csv")
    names = {row.name for row in read_metrics(file)}
    assert {name for name in names if name.startswith("train/")}
    known = {f"{stage}/{metric}" for metric in METRICS for stage in ("val", "test", "test_unseen_formats")}
    missing = [name for name in sorted(set(map(_general, names)) - known) if f"`{name}`" not in GUIDE]
    assert missing == []


def _general(name: str) -> str:
    by_size = re.sub(r"(bits_per_sequence|wrong_bits|exact_sequences)_\d+$", r"\1", name)
    return by_size.removesuffix("_actions")
