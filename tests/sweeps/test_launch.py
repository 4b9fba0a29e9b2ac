"""Processes that torchrun or srun started find one folder, also when they are started again."""

import copy
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
import torch
from ranks import free_port

from zoo.config import resolvers
from zoo.config.check import check
from zoo.config.compose import Job, compose_jobs
from zoo.config.jobs import check_jobs
from zoo.core.problems import ConfigError
from zoo.loggers.wandb_id import short_id
from zoo.runs.frozen import Config
from zoo.runs.resume import CannotResume
from zoo.runs.status import State, StatusFile
from zoo.runtime.launch import Launch, environments, find_launch
from zoo.sweeps import launch
from zoo.sweeps.launch import complain, queue_run

CONF = Path(__file__).parents[2] / "conf"
LINE = ["data=reverse", "trainer=multinode"]
STEP = {"SLURM_JOB_ID": "512", "SLURM_STEP_ID": "0", "SLURM_NNODES": "2", "SLURM_NTASKS_PER_NODE": "4"}
AGENT = {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_USE_AGENT_STORE": "True"}

Start = Callable[..., None]


@pytest.fixture
def srun(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Makes this process one of those that srun started, four on each of two machines."""

    def start(rank: int, **others: str) -> None:
        own = {"SLURM_NTASKS": "8", "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % 4)}
        for name, value in {**STEP, **own, **others}.items():
            monkeypatch.setenv(name, value)

    return start


@pytest.fixture
def torchrun(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Makes this process one of those that torchrun started, one on each of two machines."""
    port = free_port()
    agent = torch.distributed.TCPStore(
        "127.0.0.1", port, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=10)
    )

    def start(rank: int) -> None:
        assert agent.port == port
        places = {"RANK": str(rank), "GROUP_RANK": str(rank), "LOCAL_RANK": "0", "MASTER_PORT": str(port)}
        sizes = {"WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}
        for name, value in {**AGENT, **places, **sizes}.items():
            monkeypatch.setenv(name, value)

    return start


@cache
def job(*overrides: str) -> Job:
    """Composes once for all processes: what they are told by their launcher is read when a folder is made."""
    resolvers.register()
    return compose_jobs(CONF, [*LINE, *overrides], multirun=False)[0]


def queue(runs: Path, *overrides: str) -> tuple[Path, bool]:
    one = job(*overrides)
    composed, paths = copy.deepcopy(one.composed), {**one.config["paths"], "runs_dir": str(runs)}
    composed.paths.runs_dir = str(runs)
    path, config = queue_run(one._replace(composed=composed, config={**one.config, "paths": paths}))
    return path.parent, config is None


def test_by_hand_every_run_has_its_own_folder(runs: Path) -> None:
    assert find_launch() is None
    assert environments() == []
    first, second = queue(runs), queue(runs)
    assert first[0] != second[0]
    assert not first[1]


def test_how_it_was_started(srun: Start, torchrun: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    srun(5)
    assert find_launch() == Launch("srun", nodes=2, processes=8, rank=5, local_rank=1)
    assert [environment.auto_requeue for environment in environments()] == [False]
    monkeypatch.setenv("SLURM_JOB_NAME", "bash")  # srun --pty bash
    assert find_launch() is None
    torchrun(1)  # by an srun, too
    assert find_launch() == Launch("torchrun", nodes=2, processes=2, rank=1, local_rank=0)
    assert environments() == []


def test_a_job_of_a_sweep_was_not_started_by_srun(srun: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep takes away how many tasks there are: the trainer starts the processes of a job."""
    srun(0)
    monkeypatch.delenv("SLURM_NTASKS")
    assert find_launch() is None


@pytest.mark.parametrize("starter", ["srun", "torchrun"])
def test_all_get_one_folder(runs: Path, starter: str, request: pytest.FixtureRequest) -> None:
    start = request.getfixturevalue(starter)
    start(0)
    folder, goes_on = queue(runs)
    assert not goes_on
    start(1)
    assert queue(runs) == (folder, True)  # it has nothing to go on with, as the first one will see
    assert len(list(runs.rglob("config.yaml"))) == 1
    start(0)
    assert queue(runs) == (folder, True), "started again"


def test_a_name_is_found_again_without_a_store(
    runs: Path, torchrun: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    torchrun(0)
    monkeypatch.setenv("MASTER_PORT", "1")
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "False")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "mine")
    folder, goes_on = queue(runs)
    assert not goes_on
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert queue(runs) == (folder, True)
    for name, shared in (("none", "False"), ("none", "True"), ("mine", "True")):
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", name)
        monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", shared)
        with pytest.raises(CannotResume, match="they need a new store each time, and a name"):
            queue(runs)


def test_another_step_or_command_is_another_run(runs: Path, srun: Start) -> None:
    srun(0)
    first, _ = queue(runs)
    second, _ = queue(runs, "seed=2")
    srun(0, SLURM_STEP_ID="1")
    third, _ = queue(runs)
    srun(0, SLURM_JOB_ID="513")
    fourth, _ = queue(runs)
    assert len({first, second, third, fourth}) == 4
    assert len({short_id(folder) for folder in (first, second, third, fourth)}) == 4


def test_a_finished_run_is_not_begun_again(runs: Path, srun: Start) -> None:
    srun(0)
    folder, _ = queue(runs)
    StatusFile(folder).end(State.FINISHED, exit_code=0)
    for rank in (0, 1):
        srun(rank)
        with pytest.raises(SystemExit) as end:
            queue(runs)
        assert end.value.code == 0


def test_a_machine_that_is_gone_does_not_hold_it_up(
    runs: Path, srun: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another machine's run one would believe for a quarter of an hour that it goes on."""
    srun(0)
    folder, _ = queue(runs)
    monkeypatch.setattr("zoo.runs.status.socket.gethostname", lambda: "gone")
    StatusFile(folder).start(["seed=1"])
    monkeypatch.undo()
    srun(0)
    assert StatusFile(folder).read().state is State.RUNNING
    assert queue(runs) == (folder, True)
    assert StatusFile(folder).read().state is State.QUEUED
    assert StatusFile(folder).read().overrides == ["seed=1"]


def test_nobody_waits_for_ever(runs: Path, srun: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    srun(3)
    monkeypatch.setattr(launch, "_SECONDS_TO_WAIT", 0.1)
    with pytest.raises(TimeoutError, match=r"made no folder of the run \*_.* paths.runs_dir must lie where"):
        queue(runs)


def test_one_message_on_each_machine(
    srun: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "_SECONDS_TO_SPEAK", 0.0)
    for rank in range(8):
        srun(rank)
        complain(ValueError(f"rank {rank}"))
    assert capsys.readouterr().err == "rank 0\nrank 4\n"


def test_the_numbers_are_the_launchers(
    configure: Callable[..., Config], srun: Start, torchrun: Start
) -> None:
    srun(0)
    trainer = configure(*LINE)["trainer"]
    assert (trainer["num_nodes"], trainer["devices"]) == (2, 4)
    torchrun(0)
    config = configure(*LINE, "trainer.accelerator=cpu")
    assert (config["trainer"]["num_nodes"], config["trainer"]["devices"]) == (2, 1)
    check(config)


def refusal(config: Config) -> str:
    with pytest.raises(ConfigError) as refused:
        check(config)
    return str(refused.value)


def test_what_nobody_started_is_refused(configure: Callable[..., Config]) -> None:
    said = refusal(configure(*LINE, "trainer.accelerator=cpu"))
    assert "trainer.num_nodes: processes on several machines are started by torchrun, or by srun" in said
    said = refusal(configure("trainer=cpu", "+trainer.num_nodes=2"))
    assert "trainer.num_nodes: a run trains on one device, but with trainer.strategy=ddp" in said


@pytest.mark.parametrize("trainer", ["cpu", "ddp_cpu", "debug"])
def test_other_numbers_than_the_launchers_are_refused(
    configure: Callable[..., Config], srun: Start, trainer: str
) -> None:
    """Each process would train a model of its own, or wait for others for ever."""
    srun(0)
    said = refusal(configure(f"trainer={trainer}"))
    devices = 2 if trainer == "ddp_cpu" else 1
    assert f"srun started 8 processes, but num_nodes x devices is 1 x {devices}: trainer=multinode" in said


def test_a_sweep_starts_its_processes_itself(runs: Path, torchrun: Start) -> None:
    torchrun(0)
    line = [*LINE, "trainer.accelerator=cpu", f"paths.runs_dir={runs}", "seed=1,2"]
    with pytest.raises(ConfigError, match="start it without torchrun, or one job with it"):
        check_jobs(compose_jobs(CONF, line, multirun=True), multirun=True)


@pytest.mark.parametrize(
    ("line", "gpus", "message"),
    [
        (["trainer=mps"], 0, "trainer.accelerator: torch finds no Apple GPU on this machine; take trainer="),
        (["trainer=ddp"], 0, "trainer.accelerator: torch finds no GPU on this machine; take trainer=cpu"),
        (["trainer=ddp"], 1, "trainer.devices: this machine has one GPU; take trainer=gpu"),
        (["trainer=ddp", "trainer.devices=4"], 2, "trainer.devices: 4 GPUs are asked for, and this machine"),
        (["trainer=ddp", "trainer.use_distributed_sampler=true"], 2, "must be false with a strategy"),
    ],
)
def test_a_device_that_is_missing(
    configure: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
    line: list[str],
    gpus: int,
    message: str,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert message in refusal(configure(*line))
