"""conf/sweep/wandb_*.yaml: what a W&B agent would type runs, and logs what is optimised."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

from zoo.config.allowed import locate
from zoo.config.check import check
from zoo.runs.frozen import Config

PROJECT = Path(__file__).parents[2]
FILES = sorted((PROJECT / "conf" / "sweep").glob("wandb_*.yaml"))
TASKS = sorted(path.stem for path in (PROJECT / "conf" / "task").glob("*.yaml"))
GOALS = {"max": "maximize", "min": "minimize"}


def read(path: Path) -> dict[str, Any]:
    sweep: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return sweep


def command_line(sweep: dict[str, Any], draw: Callable[[dict[str, Any]], Any]) -> list[str]:
    """What the agent would run, by its own code, for values that `draw` takes of each parameter."""
    drawn = {name: {"value": draw(parameter)} for name, parameter in sweep["parameters"].items()}
    words = {"env": ["/usr/bin/env"], "interpreter": ["python"], "program": [sweep["program"]]}
    words |= create_sweep_command_args({"args": drawn})
    line = []
    for part in create_sweep_command(list(sweep["command"])):
        line += words[part[2:-1]] if part.startswith("${") else [part]
    return line


def lowest(parameter: dict[str, Any]) -> Any:
    return parameter["values"][0] if "values" in parameter else float(parameter["min"])


def highest(parameter: dict[str, Any]) -> Any:
    return parameter["values"][-1] if "values" in parameter else float(parameter["max"])


def test_every_task_has_one() -> None:
    assert [path.stem for path in FILES] == [f"wandb_{task}" for task in TASKS]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_agents_command_runs(
    path: Path, start: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    line = command_line(read(path), highest)
    assert line[:3] == ["/usr/bin/env", "python", "train.py"]
    assert start(*line[3:], "check=true") == 0, capsys.readouterr().err
    assert "the configuration is fine" in capsys.readouterr().out


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_optimised_is_what_picks_the_checkpoint(path: Path, configure: Callable[..., Config]) -> None:
    sweep = read(path)
    line = command_line(sweep, lowest)[3:]
    config = configure(*line)
    check(config, line)
    task = locate(config["task"]["_target_"])
    assert path.stem == f"wandb_{task.__module__.split('.')[2]}"
    name = sweep["metric"]["name"]
    assert name == config["task"]["monitor"]
    assert sweep["metric"]["goal"] == GOALS[task.mode_of(name)]  # type: ignore[attr-defined]
    assert config["test"] is False, "one chooses on validation"
    assert sweep["project"] == config["logger"]["wandb"]["project"]
    assert f"wandb sweep conf/sweep/{path.name}\n" in path.read_text(encoding="utf-8")
