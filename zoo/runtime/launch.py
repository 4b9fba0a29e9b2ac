"""How torchrun or srun started this process."""

import os
from typing import NamedTuple

from lightning.fabric.plugins.environments.slurm import SLURMEnvironment

_INTERACTIVE = ("bash", "interactive")
"""Names of SLURM jobs that are shells, in which commands are typed by hand; Lightning has the same."""


class Launch(NamedTuple):
    """How this process was started.

    Attributes:
        by: `torchrun` or `srun`.
        nodes: the number of machines.
        processes: the number of processes on all machines.
        rank: of this process among all.
        local_rank: of this process on its machine.
    """

    by: str
    nodes: int
    processes: int
    rank: int
    local_rank: int


def find_launch() -> Launch | None:
    """How this process was started; None where neither torchrun nor srun did it."""
    environment = os.environ
    # torchrun first, which srun may start on each machine
    if "TORCHELASTIC_RUN_ID" in environment:
        names = ("GROUP_WORLD_SIZE", "WORLD_SIZE", "RANK", "LOCAL_RANK")
        return Launch("torchrun", *(int(environment[name]) for name in names))
    names = ("SLURM_NNODES", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
    started = {"SLURM_STEP_ID", *names} <= environment.keys()
    if started and environment.get("SLURM_JOB_NAME") not in _INTERACTIVE:
        return Launch("srun", *(int(environment[name]) for name in names))
    return None


def environments() -> list[SLURMEnvironment]:
    """Lightning's plugin that keeps it from requeueing a SLURM job itself, with a checkpoint of its own."""
    launch = find_launch()
    return [SLURMEnvironment(auto_requeue=False)] if launch is not None and launch.by == "srun" else []
