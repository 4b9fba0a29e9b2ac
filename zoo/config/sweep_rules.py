"""What a sweep must be, to be run at all."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from zoo.config.sweep_settings import SweepSettings
from zoo.config.values import shown
from zoo.core.problems import ConfigError, Problem, unknown
from zoo.runs.frozen import Config
from zoo.runtime.launch import find_launch
from zoo.runtime.leases import gpus, gpus_wanted

if TYPE_CHECKING:
    from zoo.config.compose import Job

LAUNCHERS = ("local", "slurm")


def no_settings(given: Any) -> Problem:
    """What is wrong with a value where `sweep` should hold settings."""
    names = ", ".join(field.name for field in fields(SweepSettings))
    meant = f"; did you mean sweep.name={given}?" if isinstance(given, str) else ";"
    return Problem("sweep", f"holds settings, got {shown(given)}{meant} allowed: {names}")


def check_sweep(jobs: "Sequence[Job]") -> None:
    """Refuses a sweep that cannot run, whatever its jobs are.

    Raises:
        ConfigError: the launcher is none of ours, a job wants more GPUs than there are, or torchrun or srun
            started this process, and others that would run the same sweep.
    """
    launcher = str(jobs[0].composed.hydra.runtime.choices["hydra/launcher"])
    if launcher not in LAUNCHERS:
        problem = f"{launcher} does not give each job a process and a folder of its own"
        raise ConfigError([Problem("hydra/launcher", problem + unknown(launcher, LAUNCHERS))])
    if (launch := find_launch()) is not None:
        problem = f"a sweep starts its processes itself: start it without {launch.by}, or one job with it"
        raise ConfigError([Problem("-m", problem)])
    if launcher == "local":
        check_gpus([job.config for job in jobs])


def check_gpus(configs: Sequence[Config]) -> None:
    """Refuses jobs that would wait for a GPU for ever.

    Raises:
        ConfigError: a job wants more than there are.
    """
    if not any(gpus_wanted(config, 1) for config in configs):
        return
    available = len(gpus())
    most = max(1, *(gpus_wanted(config, available) for config in configs))
    if most > available:
        problem = f"a job wants {most} GPUs, and this machine has {available}; take fewer, or trainer=cpu"
        raise ConfigError([Problem("trainer.devices", problem)])
