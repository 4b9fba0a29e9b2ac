"""How torchrun or srun started this process."""

import os
from typing import NamedTuple

from lightning.fabric.plugins.environments.slurm import SLURMEnvironment

_INTERACTIVE = ("bash", "interactive")
"""Names of SLURM jobs that are shells: what is typed there is started by hand, as Lightning sees it, too."""


class Launch(NamedTuple):
    """How this process was started.

    Attributes:
        by: `torchrun` or `srun`.
        nodes: on how many machines processes were started.
        processes: in all.
        rank: of this process among them.
        local_rank: among those of this machine.
    """

    by: str
    nodes: int
    processes: int
    rank: int
    local_rank: int


def find_launch() -> Launch | None:
    """How this process was started; None where that was by hand, or by a sweep or a trainer of ours."""
    said = os.environ
    # srun may start a torchrun for each machine
    if "TORCHELASTIC_RUN_ID" in said:
        names = ("GROUP_WORLD_SIZE", "WORLD_SIZE", "RANK", "LOCAL_RANK")
        return Launch("torchrun", *(int(said[name]) for name in names))
    names = ("SLURM_NNODES", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
    started = {"SLURM_STEP_ID", *names} <= said.keys()
    if started and said.get("SLURM_JOB_NAME") not in _INTERACTIVE:
        return Launch("srun", *(int(said[name]) for name in names))
    return None


def environments() -> list[SLURMEnvironment]:
    """What Lightning must be told: it would requeue a SLURM job itself, from a checkpoint of its own."""
    launch = find_launch()
    return [SLURMEnvironment(auto_requeue=False)] if launch is not None and launch.by == "srun" else []
