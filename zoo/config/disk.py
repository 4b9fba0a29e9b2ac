"""Is there room for what is asked for? Said before a sweep begins, not in its last hour."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from zoo.core.problems import ConfigError, Problem
from zoo.runs.frozen import Config

_BYTES_PER_PARAMETER = 4
_TRAINED = 3  # a checkpoint to go on from: the weights and two moments of Adam
_REST = 5 * 2**20  # logs, pictures, predictions of a run: a few megabytes, whatever the model


def check_disk(configs: Sequence[Config], parameters: Sequence[int]) -> None:
    """Refuses runs whose checkpoints cannot fit on the disk.

    After its end a run keeps best.ckpt (weights) and last.ckpt (weights and optimiser). While it runs both
    hold the optimiser (and where weights are averaged, these), and a third one is being written.

    Raises:
        ConfigError: says what is needed, what is free and where.
    """
    models = [_BYTES_PER_PARAMETER * count for count in parameters]
    averaged = [_averaged(config) * model for config, model in zip(configs, models, strict=True)]
    parallel = min(configs[0]["sweep"]["parallel"], len(configs))
    kept = sum((1 + _TRAINED) * model + _REST for model in models) + sum(averaged)
    needed = kept + parallel * ((2 * _TRAINED - 1) * max(models) + 2 * max(averaged))
    folder = Path(configs[0]["paths"]["runs_dir"])
    disk = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(disk).free
    if needed > free:
        runs = "a run" if len(configs) == 1 else f"{len(configs)} runs"
        message = (
            f"{runs} would write about {_gigabytes(needed)}, and {disk} has {_gigabytes(free)} free: "
            "make room (`zoo clean` frees finished runs' last.ckpt) or choose another folder"
        )
        raise ConfigError([Problem("paths.runs_dir", message)])


def _averaged(config: Config) -> int:
    """How many weights beyond its own a checkpoint holds."""
    averaging = config["callbacks"].get("averaging")
    return 1 + int(averaging.get("checkpoints", 1)) if averaging else 0


def _gigabytes(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"
