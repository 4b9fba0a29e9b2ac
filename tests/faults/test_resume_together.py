"""A run of two processes that was stopped or killed: it ends whole, and goes on as if nothing had been."""

import signal
import time
from pathlib import Path

import pytest
import torch
from small_runs import SMALL, assert_same_run, metrics, only_run, resume, run, start

from zoo.runs.resume import CannotResume
from zoo.runs.status import State, StatusFile
from zoo.sweeps.devices import change_devices

pytestmark = pytest.mark.slow

TOGETHER = ["trainer=ddp_cpu" if option == "trainer=cpu" else option for option in SMALL]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    code, said = run(*TOGETHER, f"paths.runs_dir={folder}/runs")
    assert code == 0, said
    return only_run(folder / "runs")


def _processes(folder: Path) -> list[int]:
    """Those that began the fit and are still there."""
    begun = [int(line.split()[0]) for line in (folder / "fits.txt").read_text().splitlines()]
    alive = []
    for number in begun:
        status = Path(f"/proc/{number}/status")
        if status.exists() and "State:\tZ" not in status.read_text():
            alive.append(number)
    return alive


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("fault", "saved"),
    [("SIGKILL@step:7", 6), ("SIGKILL@validation:3", 6), ("SIGTERM@step:7", 7), ("SIGKILL@write:2", 3)],
)
def test_either_process_ends_and_both_go_on(
    whole: Path, tmp_path: Path, fault: str, saved: int, rank: int
) -> None:
    if "write" in fault and rank:
        pytest.skip("the first process writes")
    line = [*TOGETHER, f"paths.runs_dir={tmp_path}/runs"]
    code, said = run(*line, fault=fault, environment={"FAULT_RANK": str(rank)})
    assert code != 0, said
    folder = only_run(tmp_path / "runs")
    _all_end(folder)
    assert torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["global_step"] == saved
    code, said = resume(folder)
    assert code == 0, said
    assert_same_run(whole, folder)
    assert StatusFile(folder).read().state is State.FINISHED


def _all_end(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while left := _processes(folder):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.2)


def test_a_signal_to_the_one_that_was_started_ends_both(whole: Path, tmp_path: Path) -> None:
    line = [option.replace("max_epochs=3", "max_epochs=300") for option in TOGETHER]
    process = start(*line, f"paths.runs_dir={tmp_path}/runs")
    deadline = time.monotonic() + 120
    while not list((tmp_path / "runs").glob("*/*/metrics.csv")):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 143, said
    folder = only_run(tmp_path / "runs")
    _all_end(folder)
    assert StatusFile(folder).read().state is State.PREEMPTED


def test_a_loss_that_is_no_number_in_one_process_is_said_by_all(tmp_path: Path) -> None:
    line = [*TOGETHER, f"paths.runs_dir={tmp_path}/runs"]
    code, said = run(*line, fault="nan@step:7", environment={"FAULT_RANK": "1"})
    assert code == 1, said
    folder = only_run(tmp_path / "runs")
    _all_end(folder)
    status = StatusFile(folder).read()
    assert status.state is State.DIVERGED, status
    before = (folder / "config.yaml").read_bytes()
    with pytest.raises(CannotResume, match="diverged"):
        change_devices(folder, 1)
    assert (folder / "config.yaml").read_bytes() == before


@pytest.mark.parametrize(("line", "devices"), [(TOGETHER, 1), (SMALL, 2)])
def test_on_another_number_of_devices_it_goes_on_and_says_what_changes(
    tmp_path: Path, line: list[str], devices: int
) -> None:
    code, _ = run(*line, f"paths.runs_dir={tmp_path}/runs", fault="SIGTERM@step:7")
    assert code == 143
    folder = only_run(tmp_path / "runs")
    before = len(metrics(folder))
    change_devices(folder, devices)
    code, said = resume(folder)
    assert code == 0, said
    assert f"is one of {3 - devices} processes, {devices} go on" in said
    steps = [int(row[0]) for row in metrics(folder) if row[1] == "train/loss"]
    assert steps == list(range(1, 25))
    assert before < len(metrics(folder))
