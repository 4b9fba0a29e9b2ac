"""The check of last.ckpt before a training resumes from it.

A run's folder may come from anyone, and Lightning trusts a checkpoint: it would resume without an optimiser's
state, or remove any folder that the checkpoint calls a worse checkpoint.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

KEY = "resume"
"""The key of what a resumed run needs beyond Lightning's state."""

_LOOPS = (
    *("epoch_progress", "epoch_loop.batch_progress", "epoch_loop.val_loop.batch_progress"),
    "epoch_loop.automatic_optimization.optim_progress",
)
_PATHS = ("best_model_path", "kth_best_model_path", "last_model_path")


def require_progress(loaded: Mapping[str, Any]) -> None:
    """Refuses the content of a checkpoint from which no training can resume.

    Raises:
        ValueError: says what is wrong.
    """
    resumed = _mapping(loaded, KEY)
    if type(resumed.get("fitted")) is not bool:
        raise ValueError(f"{KEY}.fitted must be true or false, got {resumed.get('fitted')!r}")
    for name in ("batches", "logged_steps", "metrics_size"):
        if type(count := resumed.get(name)) is not int or count < 0:
            raise ValueError(f"{KEY}.{name} must be a whole number from 0 on, got {count!r}")
    loops = _mapping(_mapping(loaded, "loops"), "fit_loop")
    for name in _LOOPS:
        _mapping(loops, name)
    try:
        steps = loops[_LOOPS[-1]]["optimizer"]["step"]["total"]["completed"]
    except (KeyError, TypeError):
        raise ValueError("it does not say how many steps were trained") from None
    if steps != loaded["global_step"]:
        raise ValueError(f"global_step is {loaded['global_step']!r}, but {steps!r} steps were trained")
    optimizers = loaded.get("optimizer_states")
    if not isinstance(optimizers, list) or not optimizers:
        raise ValueError("it has no state of the optimiser, as a best.ckpt has none once a run is finished")
    if not isinstance(loaded.get("lr_schedulers"), list):
        raise ValueError("it has no list of the schedules' states")
    for name, state in _mapping(loaded, "callbacks").items():
        if not isinstance(name, str) or not isinstance(state, Mapping):
            raise ValueError(f"the state of the callback {name!r} is something else")
        if "dirpath" in state:
            for path in _checkpoints(name, state):
                if Path(path).parent != Path(state["dirpath"]) or Path(path).suffix != ".ckpt":
                    raise ValueError(
                        f"{_short(name)} would replace {path}, which is no checkpoint of the run"
                    )


def _checkpoints(name: str, state: Mapping[str, Any]) -> Iterator[str]:
    """The files that a callback would replace."""
    best = state.get("best_k_models")
    paths = [*(state.get(key) for key in _PATHS), *(best if isinstance(best, Mapping) else [None])]
    for path in (state["dirpath"], *paths):
        if not isinstance(path, str):
            raise ValueError(f"the state of {_short(name)} names {path!r} instead of a file")
    yield from filter(None, paths)


def _short(name: str) -> str:
    """A callback's class, without the settings in its state key."""
    return name.partition("{")[0]


def _mapping(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = holder.get(name)
    if not isinstance(found, Mapping):
        raise ValueError(f"it has no {name}")
    return found
