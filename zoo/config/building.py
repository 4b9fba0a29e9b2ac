"""A configuration, and what it describes, for Python: `zoo.compose` and `zoo.build`."""

from typing import NamedTuple

from lightning.pytorch import LightningDataModule, LightningModule

from zoo.config import resolvers
from zoo.config.check import check
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.core.checkout import import_from_checkout, package_checkout, require_checkout
from zoo.runs.frozen import Config


def compose(*overrides: str) -> Config:
    """What `python train.py` would run.

    Args:
        overrides: as they are typed there, such as `"experiment=reverse"` and `"attention=general"`.

    Returns:
        The whole configuration, resolved and checked; plain dictionaries and lists.

    Raises:
        ConfigError: names every override and every setting that does not fit.
        TypeError: an override is no string.
    """
    for override in overrides:
        if not isinstance(override, str):
            raise TypeError(f"overrides are strings, such as 'seed=2', 'data=dates'; got {override!r}")
    resolvers.register()
    import_from_checkout()
    checkout = package_checkout() or require_checkout()
    config = compose_jobs(checkout / "conf", overrides, multirun=False)[0].config
    check(config)
    return config


class Built(NamedTuple):
    """What a training needs.

    Attributes:
        data: prepared, with its batches and its `spec`.
        task: the Lightning module; `task.network` is the network.
    """

    data: LightningDataModule
    task: LightningModule


def build(config: Config) -> Built:
    """Prepares the data of a configuration, and builds its network and its task.

    Args:
        config: from `compose`, or a run's `config.yaml`.

    Returns:
        Both, for `lightning.pytorch.Trainer(...).fit(task, datamodule=data)`.
    """
    import_from_checkout()
    data = instantiate(config["data"], "data")
    data.prepare_data()
    data.setup()
    network = instantiate(config["model"], "model")(spec=data.spec)
    return Built(data, instantiate(config["task"], "task")(network=network, spec=data.spec))
