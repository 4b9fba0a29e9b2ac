"""What a resolved configuration holds at the top: every setting with its type."""

from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

from lightning.pytorch import Callback, LightningDataModule, LightningModule, Trainer
from lightning.pytorch.loggers import Logger
from torch.nn import Module
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from zoo.attention import LocationPolicy, Score, Selection
from zoo.runtime.precision import MatmulPrecision


class Paths(TypedDict):
    """Where things lie; see conf/paths/default.yaml."""

    runs_dir: str
    data_dir: str
    cache_dir: str
    wandb_dir: str
    run_dir: str


class Sweep(TypedDict):
    """How the jobs of a sweep are run; see `zoo.config.sweep_settings.SweepSettings`."""

    name: str | None
    parallel: int
    fail_fast: bool
    jobs_per_gpu: int
    worst: float | None


class Settings(TypedDict):
    """The whole; see conf/train.yaml. What is `Callable` is completed by whoever gets it."""

    name: str
    seed: int
    sweep: Sweep
    experiment: str | None
    test: bool
    check: bool
    plugins: NotRequired[list[str]]  # likewise
    compile: NotRequired[bool]  # runs of old have none
    matmul_precision: NotRequired[MatmulPrecision]  # likewise
    attention: NotRequired[Callable[..., Score]]  # parts that only some models or tasks take
    selection: NotRequired[Callable[..., Selection]]
    policy: NotRequired[Callable[..., LocationPolicy]]
    model: Callable[..., Module]
    data: LightningDataModule
    task: Callable[..., LightningModule]
    optimizer: Callable[..., Optimizer]
    scheduler: Callable[..., LRScheduler] | None
    decoding: NotRequired[Callable[..., list[Any]]]
    trainer: Callable[..., Trainer]
    callbacks: dict[str, Callback]
    logger: dict[str, Logger]
    paths: Paths
