"""What a job counts in an optimisation."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.runs.status import State, StatusFile
from zoo.sweeps.objective import objectives
from zoo.sweeps.record import Sweep


def end(folder: Path, state: State, value: object = None) -> None:
    StatusFile(folder).end(state, exit_code=int(state is not State.FINISHED))
    if value is not None:
        (folder / "results.json").write_text(json.dumps({"checkpoint": {"metric": "val/x", "value": value}}))


@pytest.mark.parametrize(
    ("mode", "worst", "values", "expected"),
    [
        ("max", None, [3.0, None, 5.0], [3.0, 3.0, 5.0]),
        ("min", None, [3.0, None, 5.0], [3.0, 5.0, 5.0]),
        ("max", -1.0, [3.0, None, 5.0], [3.0, -1.0, 5.0]),
        ("max", None, [None, None], [0.0, 0.0]),
        ("min", None, [None], [1.7976931348623157e308]),
        ("max", None, [float("nan"), 2.0, float("inf")], [2.0, 2.0, 2.0]),
    ],
)
def test_is_always_finite(
    make_sweep: Callable[..., Sweep],
    mode: str,
    worst: float | None,
    values: list[float | None],
    expected: list[float],
) -> None:
    sweep = make_sweep(*["finish"] * len(values), worst=worst)
    for job, value in zip(sweep.jobs, values, strict=True):
        job.config["callbacks"]["best"]["mode"] = mode
        end(job.folder, State.DIVERGED if value is None else State.FINISHED, value)
    assert list(objectives(sweep.jobs).values()) == expected


def test_what_a_failed_run_had_reached_does_not_count(make_sweep: Callable[..., Sweep]) -> None:
    sweep = make_sweep("finish", "finish")
    end(sweep.jobs[0].folder, State.FAILED, 9.0)
    end(sweep.jobs[1].folder, State.FINISHED, 4.0)
    assert list(objectives(sweep.jobs).values()) == [4.0, 4.0]
