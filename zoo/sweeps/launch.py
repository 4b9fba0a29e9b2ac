"""Processes that torchrun or srun started: they train one model, in one folder.

All nodes must see that folder. A process that is started again, by torchrun or with its SLURM job, finds the
folder again and goes on in it.
"""

import hashlib
import os
import secrets
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from torch.distributed import TCPStore  # type: ignore[attr-defined]  # a public name nevertheless

from zoo.config.compose import Job
from zoo.runs.folder import create_run_folder, day_folder
from zoo.runs.frozen import FILE, Config, freeze
from zoo.runs.resume import CannotResume
from zoo.runs.status import State, StatusFile
from zoo.runtime.launch import find_launch

_SECONDS_TO_WAIT = 600.0
"""For the first process, which may have data sets to look at on a slow disk."""
_SECONDS_TO_SPEAK = 5.0
_NO_NAME = "none"
"""What torchrun says where no --rdzv_id was given."""


def queue_run(job: Job) -> tuple[Path, Config | None]:
    """Queues a run in a folder of its own; processes that were launched together get the same one.

    Returns:
        The config.yaml, and what stands in it; None where another process or an earlier start of this one
        wrote it, so that the run may have begun and goes on.

    Raises:
        OSError: the folder cannot be made, or the first process made none.
        CannotResume: torchrun started a run again, but not so that its processes can find each other.
        SystemExit: a launch that is started again had finished its run.
    """
    launch, runs = find_launch(), Path(job.config["paths"]["runs_dir"])
    if launch is None:
        return _queued(job, create_run_folder(day_folder(runs), job.composed.name))
    if launch.by == "torchrun":
        _require_new_store()
    identity = _identity(job.overrides)
    path = _wait_for(runs, identity) if launch.rank else _find(runs, identity)
    if path is None:
        return _queued(job, create_run_folder(day_folder(runs), job.composed.name, identity))
    status = StatusFile(path.parent)
    said = status.read()
    if said.state is State.FINISHED:  # and then a machine failed, or another process did
        print(f"{path.parent} is finished: nothing is left to do")
        raise SystemExit(0)
    if not launch.rank and said.state is State.RUNNING and said.host != socket.gethostname():
        # Another machine ran it, and is silent for too short a time to be believed gone. But it was this very
        # job, which is started again only when all of it has ended.
        status.start(said.overrides, State.QUEUED)
    return path, None


def _queued(job: Job, folder: Path) -> tuple[Path, Config]:
    return folder / FILE, freeze(job.composed, folder, job.overrides)


def complain(error: Exception) -> None:
    """Says why nothing is run: once on each machine, as one may lack what the others have."""
    launch = find_launch()
    if launch is None or not launch.local_rank:
        print(error, file=sys.stderr)
    else:
        time.sleep(_SECONDS_TO_SPEAK)  # whoever ends first makes torchrun end the others


def _require_new_store() -> None:
    """Refuses to be started again where those who meet would find each other's old addresses, and hang.

    torchrun's agents keep one store for all starts, unless they are told otherwise (pytorch/pytorch#135712).
    Without that store a run must have a name.
    """
    said = os.environ
    shared = said.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    again = said.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    if again if shared else said["TORCHELASTIC_RUN_ID"] == _NO_NAME:
        raise CannotResume(
            "torchrun cannot start these processes again: they need a new store each time, and a name; start"
            " them with TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --rdzv_backend c10d"
            " --rdzv_endpoint HOST:PORT --rdzv_id NAME"
        )


def _identity(overrides: Sequence[str]) -> str:
    """The short id of the run: the same in all processes of a launch, and when they are started again."""
    said = os.environ
    names: tuple[str, ...] = ()
    if "SLURM_STEP_ID" in said:  # a requeued job keeps its number, and begins again with its first step
        names = ("SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID")
    elif said["TORCHELASTIC_RUN_ID"] != _NO_NAME:
        names = ("TORCHELASTIC_RUN_ID",)
    if names:
        key = repr([*(said.get(name) for name in names), *overrides])
        return hashlib.sha256(key.encode()).hexdigest()[:8]
    store = TCPStore(said["MASTER_ADDR"], int(said["MASTER_PORT"]), is_master=False)
    agreed: bytes = store.compare_set("attention-zoo/run", "", secrets.token_hex(4))
    return agreed.decode()


def _find(runs: Path, identity: str) -> Path | None:
    return next(runs.glob(f"*/*_{identity}/{FILE}"), None)


def _wait_for(runs: Path, identity: str) -> Path:
    deadline = time.monotonic() + _SECONDS_TO_WAIT
    while (path := _find(runs, identity)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{runs}: the first process made no folder of the run *_{identity} in {_SECONDS_TO_WAIT:g}"
                " seconds; paths.runs_dir must lie where all machines see it"
            )
        time.sleep(0.2)
    return path
