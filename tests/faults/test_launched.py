"""Processes that torchrun and srun start, as on two machines, train one model, also started again.

The agents are torchrun's own, both on this machine. srun is a stand-in: what it says to each process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from ranks import free_port
from small_runs import FAULTY, SMALL, metrics, only_run, start

from zoo.runs.status import State, StatusFile

pytestmark = pytest.mark.slow

TWO = [*(option for option in SMALL if option not in ("trainer=cpu", "logger=csv")), "trainer=multinode"]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def start_agents(
    runs: Path, *line: str, fault: str = "", name: str | None = None
) -> list[subprocess.Popen[str]]:
    """Starts an agent for each of two machines, with a process each; the accident is the second's.

    With a name they can be started again.
    """
    port = free_port()
    agents = []
    for node in range(2):
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc_per_node=1"]
        if name is None:
            launcher += [f"--node_rank={node}", "--master_addr=127.0.0.1", f"--master_port={port}"]
        else:
            launcher += ["--rdzv_backend=c10d", f"--rdzv_endpoint=127.0.0.1:{port}", f"--rdzv_id={name}"]
            launcher += ["--local_addr=127.0.0.1", "--max-restarts=1"]
        environment = {
            **os.environ,
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": str(int(name is not None)),
            "OMP_NUM_THREADS": "1",
            "FAULT": fault if node else "",
        }
        agents.append(
            subprocess.Popen(
                [*launcher, str(FAULTY), *line, f"paths.runs_dir={runs}"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    return agents


def ends(agents: Sequence[subprocess.Popen[str]]) -> tuple[list[int], str]:
    """Waits for the agents: their exit codes, and all that was said."""
    said = []
    try:
        said = [agent.communicate(timeout=400)[0] for agent in agents]
    finally:
        for agent in agents:  # which end what they started
            agent.terminate()
            agent.wait()
    return [agent.returncode for agent in agents], "\n".join(said)


def assert_every_step_once(folder: Path) -> None:
    steps = [int(step) for step, name, _ in metrics(folder) if name == "train/loss"]
    assert steps == [*range(1, len(steps) + 1)]
    assert len(steps) > 10  # where the accidents are


def test_two_machines_one_run(runs: Path) -> None:
    codes, said = ends(start_agents(runs, *TWO, "logger=wandb"))
    assert codes == [0, 0], said
    folder = only_run(runs)
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]
    assert sorted(line.split()[1] for line in (folder / "fits.txt").read_text().splitlines()) == ["0", "1"]
    assert StatusFile(folder).read().state is State.FINISHED
    assert len(list(runs.glob("wandb/offline-run-*"))) == 1
    assert [str(path.parent) for path in runs.rglob("results.json")] == [str(folder)]
    assert [str(path.parent) for path in runs.rglob("metrics.csv")] == [str(folder)]
    rows = metrics(folder)
    assert len({(step, name) for step, name, _ in rows}) == len(rows), "a row is there twice"
    lines = (folder / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [*range(16)]


def test_started_again_it_goes_on(runs: Path) -> None:
    """One process is killed after its tenth step; torchrun starts both again."""
    codes, said = ends(start_agents(runs, *TWO, "logger=csv", fault="SIGKILL@step:10", name="mine"))
    assert codes == [0, 0], said
    folder = only_run(runs)
    ranks = [line.split()[1] for line in (folder / "fits.txt").read_text().splitlines()]
    assert sorted(ranks) == ["0", "0", "1", "1"], said
    assert_every_step_once(folder)
    discarded = folder / "metrics.discarded.csv"
    if discarded.exists():
        assert "\n3,train/loss," not in discarded.read_text(), "it began at its beginning"
    assert StatusFile(folder).read().state is State.FINISHED


def start_tasks(runs: Path, port: int, fault: str = "") -> list[subprocess.Popen[str]]:
    """Starts what srun would start in a job with a task on each of two machines."""
    job = {"SLURM_JOB_ID": "512", "SLURM_STEP_ID": "0", "SLURM_JOB_NAME": "zoo", "SLURM_NNODES": "2"}
    job |= {"SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "1", "SLURM_LOCALID": "0"}
    job |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    return [
        start(
            *(*TWO, "logger=wandb", f"paths.runs_dir={runs}"),
            fault=fault,
            environment={**job, "SLURM_PROCID": str(node), "SLURM_NODEID": str(node)},
        )
        for node in range(2)
    ]


def test_a_requeued_slurm_job_goes_on(runs: Path) -> None:
    """SLURM warns of the end of the time; the job, queued again, goes on in folder and W&B run."""
    codes, said = ends(start_tasks(runs, free_port(), fault="SIGUSR1@step:10"))
    assert codes == [143, 143], said
    folder = only_run(runs)
    assert StatusFile(folder).read().state is State.PREEMPTED
    codes, said = ends(start_tasks(runs, free_port()))
    assert codes == [0, 0], said
    assert only_run(runs) == folder
    assert StatusFile(folder).read().state is State.FINISHED
    assert_every_step_once(folder)
    assert not (folder / "metrics.discarded.csv").exists(), "a step was done twice"
    segments = [path.name.rpartition("-")[2] for path in runs.glob("wandb/offline-run-*")]
    assert segments == [folder.name.rpartition("_")[2]] * 2
    codes, said = ends(start_tasks(runs, free_port()))
    assert codes == [0, 0], "nothing is left to do"
    assert said.count("is finished: nothing is left to do") == 2
