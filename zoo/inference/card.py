"""The model card of an exported model: what it is, what it measured, how it was made, who may use it."""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from zoo.core.plugins import plugins
from zoo.reports.columns import markdown, written
from zoo.runs.frozen import Config
from zoo.tasks.inputs import PAIRS, PICTURES, SENTENCES
from zoo.tasks.task import Task
from zoo.training.checkpoint import Checkpoint
from zoo.training.exported import override_without_place

_DIGITS = 4
_MINUTE = 60


def model_card(
    name: str,
    checkpoint: Checkpoint,
    task: Task,
    results: Mapping[str, Any],
    overrides: Sequence[str] | None,
    license_id: str | None,
    usage: str | None = None,
) -> str:
    """README.md of an export, in Markdown with the head that model hubs read.

    Args:
        name: of the model, its title.
        checkpoint: what is exported.
        task: the model.
        results: the run's results.json, or `{"val": ...}` of a checkpoint alone.
        overrides: what was typed behind `train.py`; None where nobody knows.
        license_id: the SPDX identifier of the weights' licence; None where none was given.
        usage: the lines that use the model; None: those of this package.
    """
    config = checkpoint.config
    network, noun = type(task.network).__name__, type(task).__name__
    head = {
        **({} if license_id is None else {"license": license_id.lower()}),
        "library_name": "attention-zoo",
        "tags": ["attention", "pytorch", "attention-zoo"],
    }
    parts = [
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n",
        f"# {_plain(name)}\n",
        f"`{network}` with {sum(one.numel() for one in task.parameters()):,} parameters, trained as"
        f" `{noun}` on the data `{_plain(checkpoint.spec.name)}`. It is a model of the Attention Zoo;"
        " nothing in this folder runs code when it is opened.\n",
        "## Use\n",
        _indented(usage or _usage(task)),
        _own_parts(config),
        "## Figures\n",
        _figures(results),
        "## How it was made\n",
        _indented(_command(overrides)) if overrides is not None else "The command is not known.\n",
        f"{_made(checkpoint, results)} `config.yaml` has every setting.\n",
        "## Licence\n",
        f"The weights are under {license_id}.\n"
        if license_id
        else "Nobody has said under which licence the weights may be used: ask who made them.\n",
    ]
    return "\n".join(part for part in parts if part)


def _usage(task: Task) -> str:
    predictor = task.predictor
    asks = None if predictor is None else predictor.inputs()
    typed = {
        SENTENCES: ' "a sentence"',
        PAIRS: ' "one text" "another text"',
        PICTURES: " picture.png",
        None: "",
    }
    python = f'zoo.load("FOLDER").predict({asks.example})' if asks else 'zoo.load("FOLDER").play()'
    lines = [f"zoo predict FOLDER{typed[asks]}"] if asks in typed else []
    return "\n".join([*lines, f"python -c 'import zoo; print({python})'"])


def _own_parts(config: Config) -> str:
    used = sorted(one for one in plugins() if re.search(rf"'_target_': '{re.escape(one)}\.", repr(config)))
    if not used:
        return ""
    return (
        f"It needs {', '.join(used)}, installed or on PYTHONPATH, named by `ZOO_PLUGINS={','.join(used)}`.\n"
    )


def _figures(results: Mapping[str, Any]) -> str:
    splits = [name for name in results if name == "val" or name.startswith("test")]
    splits = [name for name in splits if isinstance(results[name], Mapping)]
    splits.sort(key=lambda name: (name == "val", name != "test"))
    records = results.get("metrics") or {}
    names = list(dict.fromkeys(name for split in splits for name in results[split]))
    names = [name for name in names if not records or (records.get(name) or {}).get("better")]
    if not names:
        return "Nothing was measured.\n"
    rows = [["metric", *splits]]
    for name in names:
        digits = (records.get(name) or {}).get("digits")
        rows.append([f"`{_plain(name)}`", *(_written(results[split].get(name), digits) for split in splits)])
    return markdown(rows, [False, *(True for _ in splits)])


def _written(value: Any, digits: Any) -> str:
    number = float(value) if isinstance(value, int | float) else math.nan
    return written(number, digits if isinstance(digits, int) else _DIGITS) if math.isfinite(number) else ""


def _command(overrides: Sequence[str]) -> str:
    shown = (override_without_place(one) for one in overrides if not one.startswith(("paths.", "logger")))
    return shlex.join(["python", "train.py", *(" ".join(one.split()) for one in shown)])


def _made(checkpoint: Checkpoint, results: Mapping[str, Any]) -> str:
    versions, machine = results.get("versions") or {}, results.get("machine") or {}
    said = [f"The weights are those of step {checkpoint.step:,}"]
    if checkpoint.metric is not None:
        said.append(f"the best by `{checkpoint.metric[0]}`")
    if isinstance(seed := checkpoint.config.get("seed"), int):
        said.append(f"seed {seed}")
    if isinstance(seconds := results.get("seconds"), int | float) and math.isfinite(seconds):
        gpus = machine.get("gpus") or []
        said.append(
            f"{seconds / _MINUTE:.1f} minutes on {_plain(str(gpus[0] if gpus else machine.get('processor')))}"
        )
    if versions:
        said += [f"{one} {_plain(str(versions.get(one)))}" for one in ("attention-zoo", "torch")]
    if commit := results.get("commit"):
        said.append(f"commit `{_plain(str(commit))}`")
    return f"{', '.join(said)}."


def _indented(lines: str) -> str:
    """Code: no text in it can end it."""
    return "".join(f"    {line}\n" for line in lines.splitlines())


def _plain(text: str) -> str:
    """A text within a line of Markdown, without signs that mean something there."""
    return " ".join(re.sub(r"[`|<>\[\]#*]", "", text).split())
