"""What configuration files may ask for: the project's folder, the user's cache, what this machine has."""

import os
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

PROJECT = Path(__file__).resolve().parents[2]


def _user_cache_dir() -> str:
    return os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")


def _this_machine(without_gpu: Any, with_gpu: Any) -> Any:
    import torch  # here, because most configurations never ask

    return with_gpu if torch.cuda.is_available() else without_gpu


def _mode_of(monitor: Any, *, _root_: Any) -> str:
    from zoo.config.allowed import locate  # here, because the task's imports take long

    try:
        return str(locate(_root_.task._target_).mode_of(str(monitor)))  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return "max"  # nothing is run: the check says what is wrong, at the key of the task or its monitor


def _launched(what: str) -> int:
    from zoo.runtime.launch import find_launch

    launch = find_launch()
    if launch is None:
        return {"nodes": 2, "devices": 1}[what]  # which the check refuses, as nobody started them
    return {"nodes": launch.nodes, "devices": launch.processes // launch.nodes}[what]


def register() -> None:
    """Makes five resolvers known.

    `${project_dir:}`, `${user_cache_dir:}`, `${this_machine:without gpu,with gpu}`, `${launched:nodes}` and
    `${launched:devices}` on each of them as torchrun or srun says, and `${mode_of:metric}`: `max` or `min`,
    whichever the configured task says is the metric's best.
    """
    OmegaConf.register_new_resolver("project_dir", lambda: str(PROJECT), replace=True)
    OmegaConf.register_new_resolver("user_cache_dir", _user_cache_dir, replace=True)
    OmegaConf.register_new_resolver("this_machine", _this_machine, replace=True)
    OmegaConf.register_new_resolver("launched", _launched, replace=True)
    OmegaConf.register_new_resolver("mode_of", _mode_of, replace=True)
