"""A list of runs says of each what was typed, how it is doing, its best validation and its age."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from compared_runs import make_run
from typer.testing import CliRunner

from zoo.cli.app import main
from zoo.reports.listing import list_runs
from zoo.runs.status import Progress, State, StatusFile


def test_every_state_is_listed_the_newest_last(tmp_path: Path) -> None:
    finished = make_run(tmp_path / "day" / "b")
    running, queued = tmp_path / "day" / "sweep" / "a", tmp_path / "day" / "c"
    for folder in (running, queued):
        folder.mkdir(parents=True)
    StatusFile(running).start(["experiment=toy", "attention=dot", "logger=csv"])
    StatusFile(running).beat(Progress(step=30, steps=40, metric="val/bleu", best=12.5))
    StatusFile(queued).start(["seed=3"], State.QUEUED)
    for number, folder in enumerate((finished, running, queued)):
        path = folder / "status.json"
        status = json.loads(path.read_text())
        status["start"] = f"2026-01-31T{12 + number}:00:00+00:00"
        path.write_text(json.dumps(status))
    damaged = tmp_path / "day" / "d"
    damaged.mkdir()
    (damaged / "status.json").write_text("[]")
    now = list_runs([finished])[0]
    assert (now.typed, now.state, now.best) == (
        "experiment=toy attention=dot",
        "finished",
        "val/exact_match 0.5",
    )
    found = {run.folder: run for run in list_runs([tmp_path, finished])}
    assert list(found) == [finished, running, queued, damaged]
    assert found[running][1:4] == ("experiment=toy attention=dot", "running, 75%", "val/bleu 12.5")
    assert found[queued][1:4] == ("", "queued", "")
    assert found[damaged].state == "damaged"


@pytest.mark.parametrize(
    ("seconds", "said"), [(-3, "0 s"), (59, "59 s"), (60, "1 min"), (3 * 3600, "3 h"), (86400 * 400, "400 d")]
)
def test_ages_have_one_unit(tmp_path: Path, seconds: int, said: str) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    StatusFile(folder).start()
    start = datetime.fromisoformat(StatusFile(folder).read().start)
    assert list_runs([folder], start + timedelta(seconds=seconds))[0].age == said


def test_a_pipe_gets_tabs_and_paths_that_can_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "runs" / "day" / "b")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["runs", "runs"])
    head, line = result.stdout.splitlines()
    assert head.split("\t") == ["run", "typed", "state", "best validation", "age"]
    assert line.startswith("runs/day/b\texperiment=toy attention=dot\tfinished\t")
    result = CliRunner().invoke(main, ["runs", "nowhere"])
    assert (result.exit_code, "nowhere" in result.stderr) == (2, True)
