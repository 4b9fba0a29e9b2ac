"""A run that was stopped ends as the one that was not: the same weights and metrics to the last bit."""

import json
from pathlib import Path

import pytest
import torch
from fault_table import note
from small_runs import SMALL, assert_same_run, only_run, resume, run

from zoo.runs.status import State, StatusFile

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    code, said = run(*SMALL, f"paths.runs_dir={folder}/runs", environment=_private(folder))
    assert code == 0, said
    return only_run(folder / "runs")


def _private(folder: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(folder / "cache"), "WANDB_MODE": "offline"}


def _stopped(tmp_path: Path, fault: str, *options: str) -> tuple[Path, int, int]:
    """A run with an accident: its folder, exit code, and the step of its last checkpoint (0 without one)."""
    code, said = run(*SMALL, *options, f"paths.runs_dir={tmp_path}/runs", fault=fault)
    assert code != 0, said
    folder = only_run(tmp_path / "runs")
    last = folder / "checkpoints" / "last.ckpt"
    step = torch.load(last, weights_only=True)["global_step"] if last.exists() else 0
    return folder, code, int(step)


def _goes_on(folder: Path, whole: Path) -> None:
    code, said = resume(folder)
    assert code == 0, said
    assert "Traceback" not in said
    assert_same_run(whole, folder)
    assert StatusFile(folder).read().state is State.FINISHED
    assert not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("fault", "exit_code", "saved"),
    [
        ("SIGTERM@step:1", 143, 1),
        ("SIGTERM@step:8", 143, 8),  # the last of an epoch: its validation is left and done again
        ("SIGTERM@epoch:1", 143, 8),
        ("SIGTERM@step:24", 143, 24),  # the very last: nothing but the test is left
        ("SIGTERM@validation:1", 143, 4),
        ("SIGTERM@test:1", 143, 24),
        ("SIGTERM@setup:1", 143, 0),
        ("SIGHUP@step:6", 143, 6),  # the terminal was closed
        ("SIGHUP@validation:6", 143, 12),
        ("SIGHUP@test:1", 143, 24),
        ("SIGHUP@setup:1", 143, 0),
        ("SIGUSR1@step:5", 143, 5),
        ("SIGUSR1@validation:3", 143, 8),
        ("SIGINT@step:7", 130, 7),
        ("SIGINT@validation:4", 130, 8),
        ("SIGINT@test:1", 130, 24),
    ],
)
def test_asked_to_stop(whole: Path, tmp_path: Path, fault: str, exit_code: int, saved: int) -> None:
    folder, code, step = _stopped(tmp_path, fault)
    assert (code, step) == (exit_code, saved)
    status = StatusFile(folder).read()
    assert (status.state, status.exit_code) == (State.PREEMPTED, exit_code)
    _goes_on(folder, whole)
    name = fault.partition("@")[0]
    called = {"SIGINT": "Ctrl-C", "SIGHUP": "SIGHUP (a closed terminal)"}
    note(called.get(name, name), lost="nothing: 0 steps")


def test_killed_again_and_again(whole: Path, tmp_path: Path) -> None:
    folder, _, _ = _stopped(tmp_path, "SIGKILL@step:5")
    for fault in ("SIGKILL@step:4", "SIGTERM@validation:2", "SIGKILL@write:2", "SIGKILL@step:6"):
        code, said = resume(folder, fault)
        assert code != 0, said
    _goes_on(folder, whole)


@pytest.mark.parametrize(
    "options",
    [
        ("data.num_workers=2",),
        ("trainer.accumulate_grad_batches=2",),
        ("scheduler=plateau", "scheduler.patience=0", "+scheduler.threshold=1.0"),
        ("trainer.precision=bf16-mixed",),
        ("compile=true",),
        ("trainer.log_every_n_steps=5",),
        ("trainer.check_val_every_n_epoch=2", "trainer.val_check_interval=null"),
        ("selection=soft", "model/decoder=luong", "optimizer=adamw", "scheduler=constant"),
    ],
    ids=lambda options: options[0],
)
@pytest.mark.parametrize("fault", ["SIGKILL@step:14", "SIGTERM@step:13", "SIGTERM@validation:2"])
def test_with_other_parts(tmp_path: Path, options: tuple[str, ...], fault: str) -> None:
    chosen = [*SMALL, *options]
    if "scheduler=" in " ".join(options):
        chosen.remove("scheduler.warmup_steps=5")
    whole_folder = tmp_path / "whole"
    code, said = run(*chosen, f"paths.runs_dir={whole_folder}")
    assert code == 0, said
    code, said = run(*chosen, f"paths.runs_dir={tmp_path}/runs", fault=fault)
    assert code != 0, said
    _goes_on(only_run(tmp_path / "runs"), only_run(whole_folder))


def test_repeated_from_its_configuration_alone(whole: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    (again / "config.yaml").write_bytes((whole / "config.yaml").read_bytes())
    code, said = run("--frozen", str(again / "config.yaml"), environment=_private(tmp_path))
    assert code == 0, said
    assert_same_run(whole, again)
    hashes = [json.loads((folder / "results.json").read_text())["config_hash"] for folder in (whole, again)]
    assert hashes[0] == hashes[1]
