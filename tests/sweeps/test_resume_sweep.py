"""A sweep that was interrupted is taken up again: what is done stays done, what changed is refused."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zoo.runs.lock import RunLock
from zoo.runs.status import State, StatusFile
from zoo.runs.sweep import end_sweep, resume_sweep, run_jobs, supervised
from zoo.runs.sweep_record import Sweep, read_sweep

MakeSweep = Callable[..., Sweep]
States = Callable[[Sweep], list[State]]


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def test_completes_it_without_touching_what_finished(
    make_sweep: MakeSweep, fake_script: Path, states: States, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = make_sweep("finish", "raise", "die", "finish")
    run_jobs(fake_script, sweep, sweep.jobs[:3])
    assert states(sweep) == [State.FINISHED, State.FAILED, State.KILLED, State.QUEUED]
    before = times(sweep.jobs[0].folder)

    assert resume_sweep(fake_script, sweep.folder) == 0
    assert states(sweep) == [State.FINISHED] * 4
    assert times(sweep.jobs[0].folder) == before
    seen = [json.loads((job.folder / "seen.json").read_text())["resumed"] for job in sweep.jobs]
    assert seen == [False, True, True, True]
    table = capsys.readouterr().out
    assert table.count("│ finished") == 4
    assert all(job.folder.name in table for job in sweep.jobs)


@pytest.mark.parametrize("name", ["../elsewhere", "/elsewhere", "..", ".", "", "a/b"])
def test_a_job_lies_in_its_sweeps_folder(make_sweep: MakeSweep, name: str) -> None:
    sweep = make_sweep("finish")
    record = json.loads((sweep.folder / "sweep.json").read_text())
    record["jobs"][0]["folder"] = name
    (sweep.folder / "sweep.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="is not the name of a job's folder"):
        read_sweep(sweep.folder)


def test_what_diverged_would_diverge_again(make_sweep: MakeSweep, fake_script: Path, states: States) -> None:
    sweep = make_sweep("finish", "finish")
    status = StatusFile(sweep.jobs[0].folder)
    status.end(State.DIVERGED, exit_code=1)
    assert resume_sweep(fake_script, sweep.folder) == 1
    assert states(sweep) == [State.DIVERGED, State.FINISHED]


def test_nothing_left_to_do(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = make_sweep("finish")
    run_jobs(fake_script, sweep, sweep.jobs)
    before = times(sweep.jobs[0].folder)
    assert resume_sweep(fake_script, sweep.folder) == 0
    assert times(sweep.jobs[0].folder) == before


def test_says_what_changed(make_sweep: MakeSweep, fake_script: Path, states: States) -> None:
    sweep = make_sweep("finish", "finish")
    path = sweep.jobs[1].folder / "config.yaml"
    config: dict[str, Any] = json.loads(path.read_text())
    config["trainer"] |= {"devices": 2, "precision": "64"}
    del config["callbacks"]
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match="the configuration changed since the sweep began") as caught:
        resume_sweep(fake_script, sweep.folder)
    assert str(caught.value).splitlines()[1:] == [
        f"  - {path}: trainer.devices: was 1, is 2",
        f"  - {path}: trainer.precision: was missing, is '64'",
        f"  - {path}: callbacks: was {{'best': {{'monitor': 'val/chrf', 'mode': 'max'}}}}, is missing",
    ]
    assert states(sweep) == [State.QUEUED] * 2


def test_not_while_it_runs(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = make_sweep("finish")
    with supervised(sweep.folder), pytest.raises(ValueError, match="is being run by another process"):
        resume_sweep(fake_script, sweep.folder)
    StatusFile(sweep.jobs[0].folder).start([])
    with RunLock(sweep.jobs[0].folder), pytest.raises(ValueError, match="still running: 0_job_00000000"):
        resume_sweep(fake_script, sweep.folder)


def test_a_refused_job_keeps_its_status(make_sweep: MakeSweep, fake_script: Path, states: States) -> None:
    """Another process runs the job: whatever this one's attempt says, that run is not over."""
    sweep = make_sweep("import")
    StatusFile(sweep.jobs[0].folder).start([])
    with RunLock(sweep.jobs[0].folder):
        assert run_jobs(fake_script, sweep, sweep.jobs) == 1
        status = StatusFile(sweep.jobs[0].folder).read()
        assert (status.state, status.pid) == (State.RUNNING, os.getpid())


def test_other_folders(tmp_path: Path, fake_script: Path) -> None:
    with pytest.raises(ValueError, match=r"is not the folder of a sweep: it holds no sweep\.json"):
        resume_sweep(fake_script, tmp_path)
    (tmp_path / "sweep.json").write_text('{"jobs": 3}')
    with pytest.raises(ValueError, match=r"sweep\.json is not the record of a sweep"):
        resume_sweep(fake_script, tmp_path)


def test_numbers_as_keys_are_no_change(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("finish")
    sweep.jobs[0].config["trainer"]["schedule"] = {4: 1e-05}
    (sweep.jobs[0].folder / "config.yaml").write_text(
        json.dumps(sweep.jobs[0].config).replace('"4": 1e-05', "4: 1.0e-05")
    )
    sweep.write()
    from zoo.runs.sweep_record import refuse_changes

    refuse_changes(read_sweep(sweep.folder))


@pytest.mark.parametrize("state", [State.PREEMPTED, State.FINISHED])
def test_what_a_job_has_reached_is_never_lost(
    make_sweep: MakeSweep, fake_script: Path, states: States, state: State
) -> None:
    """Not even when its process dies before the run goes on, again and again."""
    sweep = make_sweep("import")
    folder = sweep.jobs[0].folder
    last = folder / "checkpoints" / "last.ckpt"
    last.parent.mkdir()
    last.write_bytes(b"progress")
    StatusFile(folder).end(state, exit_code=0)
    for _ in range(2):
        resume_sweep(fake_script, sweep.folder)
        run_jobs(fake_script, sweep, sweep.jobs)
    assert states(sweep) == [state]
    assert last.exists()


def test_one_lost_folder_stops_nobody_else(
    make_sweep: MakeSweep, fake_script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = make_sweep("nap", "finish", "finish", parallel=2)
    shutil.rmtree(sweep.jobs[1].folder)
    assert run_jobs(fake_script, sweep, sweep.jobs) == 1
    ended = [StatusFile(job.folder).read().state for job in (sweep.jobs[0], sweep.jobs[2])]
    assert ended == [State.FINISHED] * 2
    assert end_sweep(sweep.folder) == 1
    assert "status.json does not exist" in capsys.readouterr().out.replace("\n", "")


def test_a_sweep_that_died_before_its_jobs_were_queued(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = replace(make_sweep("finish"), jobs=[])
    sweep.write()
    with pytest.raises(ValueError, match=r"ended before its jobs were queued; begin it again: python "):
        resume_sweep(fake_script, sweep.folder)
