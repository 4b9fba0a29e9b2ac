"""Where a stopped run goes on, what is kept of it, and what can be freed."""

import csv
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from small_run import SPEC, config

from zoo.core.lock import RunLock
from zoo.core.metrics_csv import rewind
from zoo.core.problems import ConfigError
from zoo.core.reading import read_yaml
from zoo.runs.clean import dispensable, runs_below
from zoo.runs.copying import copy_run
from zoo.runs.frozen import thaw
from zoo.runs.resume import LAST, CannotResume, differences, make_ready, starting_point
from zoo.runs.status import State, StatusFile, status_of
from zoo.training.checkpoint import contents
from zoo.training.checkpoint_io import AtomicIO

CONFIG: dict[str, Any] = {
    **config(),
    "seed": 1,
    "trainer": {"devices": 1, "precision": "32-true"},
    "paths": {"runs_dir": "/somewhere/runs", "run_dir": "/somewhere/runs/old"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that was preempted at step 7."""
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    here = {**CONFIG, "paths": {"runs_dir": str(tmp_path / "runs"), "run_dir": str(run)}}
    (run / "config.yaml").write_text(yaml.safe_dump(here))
    checkpoint = {
        "global_step": 7,
        "state_dict": {"w": torch.ones(2)},
        "zoo": contents(CONFIG, SPEC),
        **progress(7),
    }
    checkpoint["zoo"]["config"] = {**CONFIG, "paths": {**here["paths"], "run_dir": "/somewhere/runs/old"}}
    AtomicIO().save_checkpoint(checkpoint, run / LAST)
    _ended(run, State.PREEMPTED)
    return run


def progress(steps: int) -> dict[str, Any]:
    """What a training keeps in last.ckpt beside its weights."""
    total = {"optimizer": {"step": {"total": {"completed": steps}}}}
    loops = {
        "epoch_progress": {},
        "epoch_loop.batch_progress": {},
        "epoch_loop.val_loop.batch_progress": {},
        "epoch_loop.automatic_optimization.optim_progress": total,
    }
    return {
        "resume": {"fitted": False, "batches": steps, "logged_steps": steps, "metrics_size": 0},
        "loops": {"fit_loop": loops},
        "optimizer_states": [{"state": {}, "param_groups": []}],
        "lr_schedulers": [],
        "callbacks": {},
    }


def _ended(run: Path, state: State) -> None:
    status = StatusFile(run)
    status.start(["seed=1"])
    status.end(state, exit_code=0)


def _start(run: Path, *, resume: bool = True, **changes: Any) -> Path | None:
    values = yaml.safe_load((run / "config.yaml").read_text())
    return starting_point(run / "config.yaml", {**values, **changes}, resume)


def test_it_goes_on_from_its_last_checkpoint_wherever_its_folder_is_now(folder: Path) -> None:
    assert _start(folder) == folder / LAST
    _ended(folder, State.FAILED)
    assert _start(folder) == folder / LAST


def test_it_may_go_on_with_other_devices_but_not_otherwise(folder: Path) -> None:
    assert _start(folder, trainer={**CONFIG["trainer"], "devices": 2, "strategy": "ddp"}) == folder / LAST
    with pytest.raises(CannotResume, match=r"trainer\.precision: was '32-true', is 'bf16-mixed'"):
        _start(folder, trainer={**CONFIG["trainer"], "precision": "bf16-mixed"})


def test_without_a_checkpoint_it_begins_at_its_beginning(folder: Path) -> None:
    (folder / LAST).unlink()
    assert _start(folder) is None


@pytest.mark.parametrize(
    ("state", "said"),
    [(State.FINISHED, "is finished; `zoo rerun` repeats it"), (State.DIVERGED, "diverged, and would again")],
)
def test_what_has_nothing_left_to_do_is_refused(folder: Path, state: State, said: str) -> None:
    _ended(folder, state)
    with pytest.raises(CannotResume, match=said):
        _start(folder)


def test_a_changed_configuration_is_refused_with_every_change(folder: Path) -> None:
    with pytest.raises(CannotResume, match=r"- seed: was 1, is 2\n  - extra: was missing, is 3\n"):
        _start(folder, seed=2, extra=3)


def test_a_damaged_checkpoint_says_what_to_do(folder: Path) -> None:
    (folder / LAST).write_bytes(b"half")
    with pytest.raises(CannotResume, match=r"last\.ckpt is not a readable .*delete it to begin"):
        _start(folder)


def test_a_used_folder_is_not_begun_again(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"its folder holds a run \(preempted\); `zoo resume` goes on"):
        _start(folder, resume=False)
    StatusFile(folder).start([], State.QUEUED)
    assert _start(folder, resume=False) is None


def test_differences_name_the_whole_key() -> None:
    before = {"a": {"b": [1, 2], "c": 1}, "d": None}
    now = {"a": {"b": [1, 3], "c": 1}, "e": 2}
    assert list(differences(before, now)) == [
        "a.b: was [1, 2], is [1, 3]",
        "d: was None, is missing",
        "e: was missing, is 2",
    ]
    assert list(differences(before, before)) == []


def test_a_run_can_be_put_back_to_its_beginning(folder: Path) -> None:
    (folder / "metrics.csv").write_text("step,name,value\n1,a,0.5\n")
    (folder / "results.json").write_text("{}")
    (folder / "checkpoints" / "best.ckpt.tmp").write_bytes(b"")
    _ended(folder, State.FAILED)
    make_ready(folder, ["seed=1"])
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert left == {"config.yaml", "status.json", "metrics.discarded.csv"}
    assert (folder / "metrics.discarded.csv").read_text() == "step,name,value\n1,a,0.5\n"
    status = StatusFile(folder).read()
    assert (status.state, status.overrides) == (State.QUEUED, ["seed=1"])


@pytest.mark.parametrize("content", [None, b"", b'{"state": "fin', b"\xff\xfe\x00"])
def test_a_damaged_status_costs_no_progress(folder: Path, content: bytes | None) -> None:
    status = folder / "status.json"
    status.unlink()
    if content is not None:
        status.write_bytes(content)
    assert status_of(folder).state is State.DAMAGED
    assert _start(folder) == folder / LAST
    assert thaw(folder / "config.yaml")
    make_ready(folder, ["seed=1"])
    assert (StatusFile(folder).read().state, StatusFile(folder).read().overrides) == (
        State.PREEMPTED,
        ["seed=1"],
    )
    assert _start(folder) == folder / LAST


def test_a_damaged_status_is_left_alone_while_somebody_runs(folder: Path) -> None:
    (folder / "status.json").write_text("{")
    with RunLock(folder), pytest.raises(ValueError, match="another process runs it"):
        make_ready(folder, [])
    assert (folder / "status.json").read_text() == "{"


def test_a_folder_with_a_damaged_status_is_a_used_one(folder: Path) -> None:
    (folder / "status.json").write_text("{")
    with pytest.raises(ConfigError, match=r"its folder holds a run \(damaged\)"):
        _start(folder, resume=False)


def test_metrics_go_back_to_where_they_were(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    kept = "step,name,value\n1,a,0.5\n"
    file.write_text(kept + "2,a,0.25\n3,a,0.1")  # a kill cut the last row
    rewind(file, len(kept))
    assert file.read_text() == kept
    discarded = tmp_path / "metrics.discarded.csv"
    assert discarded.read_text() == "step,name,value\n2,a,0.25\n3,a,0.1\n"
    file.write_text(kept + "2,a,0.3\n")
    rewind(file, len(kept))
    with discarded.open() as rows:
        assert [row["value"] for row in csv.DictReader(rows)] == ["0.25", "0.1", "0.3"]
    rewind(file, len(kept))
    rewind(tmp_path / "missing.csv", 0)
    assert file.read_text() == kept


def test_a_copy_waits_in_a_new_folder(folder: Path) -> None:
    there = folder.parent / "runs" / "day" / folder.name
    folder = Path(shutil.copytree(folder, there))
    path = copy_run(folder)
    assert path.read_text() == (folder / "config.yaml").read_text()
    assert path.parents[2] == folder.parents[1]
    status = StatusFile(path.parent).read()
    assert (status.state, status.overrides) == (State.QUEUED, ["seed=1"])
    with pytest.raises(ValueError, match=r"config\.yaml does not exist"):
        copy_run(folder / "checkpoints")
    (folder / "config.yaml").write_text("a: [1")
    with pytest.raises(ValueError, match="is not the configuration of a run"):
        copy_run(folder)


def test_what_is_made_of_a_moved_run_lies_beside_it(folder: Path, tmp_path: Path) -> None:
    """Not in the checkout that it came from, which may be anybody's."""
    sweep = tmp_path / "elsewhere" / "sweep"
    run = Path(shutil.copytree(folder, sweep / folder.name))
    assert copy_run(run).parents[1] == sweep
    (sweep / "sweep.json").write_text("{}")
    path = copy_run(run)
    assert path.parents[1] == tmp_path / "elsewhere"
    assert read_yaml(path)["paths"]["runs_dir"] == str(tmp_path / "elsewhere")


def _without(*names: str) -> Any:
    def change(checkpoint: dict[str, Any]) -> None:
        holder = checkpoint
        for name in names[:-1]:
            holder = holder[name]
        del holder[names[-1]]

    return change


def _with(**values: Any) -> Any:
    return lambda checkpoint: checkpoint.update(values)


def _replacing(path: str) -> Any:
    state = {"dirpath": "/old/checkpoints", "best_model_path": "", "last_model_path": ""}
    best = {"kth_best_model_path": path, "best_k_models": {path: torch.tensor(1.0)}}
    return _with(callbacks={"BestCheckpoint": {**state, **best}})


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without("resume"), "it has no resume"),
        (_without("resume", "fitted"), "resume.fitted must be true or false"),
        (_with(resume={**progress(7)["resume"], "metrics_size": -1}), "resume.metrics_size must be"),
        (_without("loops"), "it has no loops"),
        (_without("loops", "fit_loop", "epoch_progress"), "it has no epoch_progress"),
        (_with(global_step=10**9), "global_step is 1000000000, but 7 steps were trained"),
        (_without("optimizer_states"), "no state of the optimiser"),
        (_with(optimizer_states=[]), "no state of the optimiser"),
        (_with(callbacks={"x": 3}), "the state of the callback 'x'"),
        (_replacing("/old/checkpoints/../../victim"), "BestCheckpoint would replace /old/checkpoints/../../"),
        (_replacing("/old/checkpoints/.."), "would replace"),
        (_replacing("/etc/passwd"), "would replace"),
        (_replacing("s3://bucket/x.ckpt"), "would replace"),
    ],
)
def test_a_checkpoint_that_no_training_can_go_on_from_is_refused(
    folder: Path, change: Any, said: str
) -> None:
    checkpoint = torch.load(folder / LAST, weights_only=True)
    change(checkpoint)
    AtomicIO().save_checkpoint(checkpoint, folder / LAST)
    with pytest.raises(CannotResume, match=re.escape(said)):
        _start(folder)


def test_without_a_best_checkpoint_the_last_one_is_kept(folder: Path) -> None:
    _ended(folder, State.FINISHED)
    assert [found.path.name for found in dispensable(folder)] == []


def test_only_what_nobody_needs_is_freed(folder: Path) -> None:
    (folder / "checkpoints" / "best.ckpt").write_bytes(b"best")
    (folder / "checkpoints" / "best.ckpt.tmp").write_bytes(b"half")
    (folder / "metrics.discarded.csv").write_text("rows")

    def freed() -> set[str]:
        return {found.path.name for found in dispensable(folder)}

    assert freed() == {"best.ckpt.tmp"}, "it may go on"
    _ended(folder, State.FINISHED)
    assert freed() == {"best.ckpt.tmp", "last.ckpt", "metrics.discarded.csv"}
    StatusFile(folder).start()
    (folder / "config.yaml").unlink()  # no lock: the living process counts
    assert freed() == set(), "it runs"


def test_runs_are_found_at_any_depth(folder: Path, tmp_path: Path) -> None:
    assert runs_below(folder) == runs_below(tmp_path) == [folder]
    with pytest.raises(ValueError, match="there is no run in"):
        runs_below(folder / "checkpoints")


def test_a_linked_configuration_does_not_stand_for_another_run(folder: Path, tmp_path: Path) -> None:
    """Going on with one run must not go on with the run that its config.yaml leads to."""
    received = tmp_path / "received"
    received.mkdir()
    (received / "config.yaml").symlink_to(folder / "config.yaml")
    with pytest.raises(CannotResume, match=r"received/config\.yaml is a link to"):
        _start(received)
