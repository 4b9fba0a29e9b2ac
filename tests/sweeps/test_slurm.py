"""The jobs of a sweep under submitit, whose local executor stands in for SLURM."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from zoo.runs.status import State
from zoo.runs.sweep_record import Sweep

submitit = pytest.importorskip("submitit", reason="needs the extra `slurm`")
pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs the extra `slurm`")

from zoo.runs.sweep_slurm import submit_jobs  # noqa: E402 - it needs the extra

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


def test_a_requeued_job_goes_on_in_its_folder(
    make_sweep: MakeSweep, fake_script: Path, states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SLURM takes the node away: the job saves, is started again, and finishes."""
    sweep = under_slurm(make_sweep("wait"))
    submitted = []
    original = submitit.AutoExecutor.submit

    def submit(executor: object, *arguments: object) -> object:
        submitted.append(original(executor, *arguments))
        return submitted[-1]

    def take_the_node() -> None:
        while not list(sweep.folder.glob("*/ready")):
            time.sleep(0.1)
        submitted[0]._interrupt()

    monkeypatch.setattr(submitit.AutoExecutor, "submit", submit)
    thread = threading.Thread(target=take_the_node, daemon=True)
    thread.start()
    assert submit_jobs(fake_script, sweep, sweep.jobs, cluster="local") == 0
    thread.join()
    assert states(sweep) == [State.FINISHED]
    assert json.loads((sweep.jobs[0].folder / "seen.json").read_text())["resumed"]
    assert (sweep.jobs[0].folder / "train.log").read_text().count("works") == 2
