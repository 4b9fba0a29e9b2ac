"""The jobs of a sweep under submitit, whose local executor stands in for SLURM."""

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from zoo.runs.status import State, StatusFile
from zoo.sweeps.record import Sweep

submitit = pytest.importorskip("submitit", reason="needs the extra `slurm`")
pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs the extra `slurm`")

from zoo.sweeps.slurm import submit_jobs  # noqa: E402 - it needs the extra

pytestmark = pytest.mark.slow

MakeSweep = Callable[..., Sweep]
States = Callable[[Sweep], list[State]]


def under_slurm(sweep: Sweep) -> Sweep:
    options = {"submitit_folder": str(sweep.folder / ".submitit" / "%j"), "max_num_timeout": 3}
    more = {"timeout_min": 5, "partition": "any", "additional_parameters": {}, "setup": None}
    return replace(sweep, launcher="slurm", options={**options, **more})


def test_each_job_is_a_slurm_job(make_sweep: MakeSweep, fake_script: Path, states: States) -> None:
    sweep = under_slurm(make_sweep("finish", "raise", "import"))
    assert submit_jobs(fake_script, sweep, sweep.jobs, cluster="local") == 1
    assert states(sweep) == [State.FINISHED, State.FAILED, State.FAILED]
    assert "Traceback" in (sweep.jobs[1].folder / "train.log").read_text()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_requeued_job_goes_on_in_its_folder(
    make_sweep: MakeSweep, fake_script: Path, states: States
) -> None:
    """SLURM takes the node away: the job saves, is started again, and finishes."""
    sweep = under_slurm(make_sweep("wait"))

    def take_the_node() -> None:
        while not list(sweep.folder.glob("*/ready")):
            time.sleep(0.1)
        # As SLURM does, to the process that submitit runs in.
        (status,) = sweep.folder.glob("*/status.json")
        os.kill(parent_of(json.loads(status.read_text())["pid"]), signal.SIGUSR2)

    thread = threading.Thread(target=take_the_node, daemon=True)
    thread.start()
    assert submit_jobs(fake_script, sweep, sweep.jobs, cluster="local") == 0
    thread.join()
    assert states(sweep) == [State.FINISHED]
    assert json.loads((sweep.jobs[0].folder / "seen.json").read_text())["resumed"]
    assert (sweep.jobs[0].folder / "train.log").read_text().count("works") == 2


def test_a_damaged_job_stops_nobody_else(
    make_sweep: MakeSweep, fake_script: Path, states: States, caplog: pytest.LogCaptureFixture
) -> None:
    sweep = under_slurm(make_sweep("finish", "finish", "finish", fail_fast=True))
    shutil.rmtree(sweep.jobs[0].folder)
    (sweep.jobs[1].folder / "status.json").write_text("{")
    assert submit_jobs(fake_script, sweep, sweep.jobs, cluster="local", resume=True) == 1
    assert [StatusFile(job.folder).read().state for job in sweep.jobs[1:]] == [State.FINISHED] * 2
    assert "job 0 cannot be started: its folder is gone" in caplog.text
    assert submit_jobs(fake_script, sweep, sweep.jobs[:1], cluster="local", resume=True) == 1
