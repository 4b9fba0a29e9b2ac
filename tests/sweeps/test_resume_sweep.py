"""A sweep that was interrupted is taken up again: what is done stays done, what changed is refused."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zoo.core.lock import RunLock
from zoo.runs.status import State, StatusFile
from zoo.sweeps.record import Sweep, configurations, read_sweep, refuse_changes
from zoo.sweeps.sweep import end_sweep, resume_sweep, run_jobs, supervised

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
    assert str(caught.value).splitlines()[1:-1] == [
        f"  - {path}: trainer.devices: was 1, is 2",
        f"  - {path}: trainer.precision: was missing, is '64'",
        f"  - {path}: callbacks: was {{'best': {{'monitor': 'val/chrf', 'mode': 'max'}}}}, is missing",
    ]
    assert states(sweep) == [State.QUEUED] * 2
    assert resume_sweep(fake_script, sweep.folder, skip=[1]) == 1, "something is left undone"
    assert states(sweep) == [State.FINISHED, State.QUEUED]


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
    jobs = read_sweep(sweep.folder).jobs
    now, damages = configurations(jobs)
    refuse_changes(jobs, now)
    assert not damages


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
    assert "its folder is gone" in capsys.readouterr().out.replace("\n", "")


def _spoil(folder: Path, damage: str) -> None:
    if damage == "folder":
        shutil.rmtree(folder)
    elif damage == "no config.yaml":
        (folder / "config.yaml").unlink()
    else:
        name, _, content = damage.partition(":")
        if content == "None":
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content.encode("latin-1"))


CONFIGURATIONS = ("folder", "no config.yaml", "config.yaml:", "config.yaml:[", "config.yaml:\xff\x00")


@pytest.mark.parametrize("damage", CONFIGURATIONS)
def test_a_job_that_cannot_be_run_is_named_and_stops_nobody_else(
    make_sweep: MakeSweep,
    fake_script: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    damage: str,
) -> None:
    sweep = make_sweep("finish", "finish", "finish", fail_fast=True)
    _spoil(sweep.jobs[1].folder, damage)
    assert resume_sweep(fake_script, sweep.folder) == 1
    ended = [StatusFile(job.folder).read().state for job in (sweep.jobs[0], sweep.jobs[2])]
    assert ended == [State.FINISHED] * 2
    (said,) = [message for message in caplog.messages if "damaged" in message]
    assert said.startswith("job 1 ")
    word = "gone" if damage == "folder" else "config.yaml"
    assert word in said
    assert word in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["status.json:", "status.json:{", "status.json:\xff\x00"])
def test_a_job_with_a_damaged_status_runs_again(
    make_sweep: MakeSweep, fake_script: Path, states: States, damage: str
) -> None:
    sweep = make_sweep("finish", "finish")
    folder = sweep.jobs[1].folder
    _spoil(folder, damage)
    assert resume_sweep(fake_script, sweep.folder) == 0
    assert states(sweep) == [State.FINISHED] * 2
    assert json.loads((folder / "seen.json").read_text())["resumed"], "what it had reached is kept"
    assert StatusFile(folder).read().overrides == sweep.jobs[1].overrides


def test_a_damaged_status_in_a_new_sweep_runs_too(
    make_sweep: MakeSweep, fake_script: Path, states: States
) -> None:
    sweep = make_sweep("finish")
    _spoil(sweep.jobs[0].folder, "status.json:")
    assert run_jobs(fake_script, sweep, sweep.jobs) == 0
    assert json.loads((sweep.jobs[0].folder / "seen.json").read_text())["resumed"], "its folder is no new one"


@pytest.fixture(scope="module")
def finished(make_sweep_in: MakeSweep, fake_script: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep that ran, to be copied."""
    sweep = make_sweep_in(tmp_path_factory.mktemp("finished") / "sweep", "finish", "finish")
    assert run_jobs(fake_script, sweep, sweep.jobs) == 0
    return sweep.folder


@pytest.mark.parametrize(
    "damage",
    [
        "metrics.csv:",
        "metrics.csv:step,name,value\n1,a\n",
        f"metrics.csv:step,name,value\n{'9' * 400},a,1\n",
        "config.yaml:[",
        "results.json:{",
        "results.json:None",
        "checkpoints/best.ckpt:None",
    ],
    ids=lambda damage: damage[:40],
)
def test_a_damaged_job_that_had_finished_is_named_and_left_alone(
    finished: Path,
    tmp_path: Path,
    fake_script: Path,
    states: States,
    caplog: pytest.LogCaptureFixture,
    damage: str,
) -> None:
    sweep = read_sweep(shutil.copytree(finished, tmp_path / "sweep"))
    _spoil(sweep.jobs[0].folder, damage)
    before = times(sweep.jobs[0].folder)
    assert resume_sweep(fake_script, sweep.folder) == 1
    assert states(sweep) == [State.FINISHED] * 2
    assert times(sweep.jobs[0].folder) == before
    (said,) = caplog.messages
    assert damage.partition(":")[0] in said
    assert resume_sweep(fake_script, sweep.folder, skip=[0]) == 0


def test_only_jobs_of_the_sweep_can_be_skipped(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = make_sweep("finish", "finish")
    with pytest.raises(ValueError, match=r"--skip 2, 7: .* has the jobs 0 to 1"):
        resume_sweep(fake_script, sweep.folder, skip=[1, 7, 2])


def test_under_fail_fast_a_job_that_cannot_be_started_stops_the_sweep(
    make_sweep: MakeSweep, fake_script: Path
) -> None:
    sweep = make_sweep("wait", "finish", "finish", parallel=2, fail_fast=True)
    shutil.rmtree(sweep.jobs[1].folder)
    assert run_jobs(fake_script, sweep, sweep.jobs) == 1
    assert [StatusFile(job.folder).read().state for job in (sweep.jobs[0], sweep.jobs[2])] != [
        State.FINISHED,
        State.FINISHED,
    ]
    assert StatusFile(sweep.jobs[2].folder).read().state is State.QUEUED


def test_a_sweep_that_died_before_its_jobs_were_queued(make_sweep: MakeSweep, fake_script: Path) -> None:
    sweep = replace(make_sweep("finish"), jobs=[])
    sweep.write()
    with pytest.raises(ValueError, match=r"ended before its jobs were queued; begin it again: python "):
        resume_sweep(fake_script, sweep.folder)
