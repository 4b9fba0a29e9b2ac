"""The description in every checkpoint, see `zoo.training.checkpoint`."""

from collections.abc import Mapping
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.core.spec import DataSpec
from zoo.training.checkpoint import contents, require_vocabulary


class SelfDescription(Callback):
    """Adds configuration, vocabularies and validation metrics to every checkpoint.

    Args:
        config: the resolved configuration in plain containers.
        spec: the data, with whose vocabularies those of a loaded checkpoint must agree.
    """

    def __init__(self, *, config: Mapping[str, Any], spec: DataSpec) -> None:
        self._config = config
        self._spec = spec

    @property
    def name(self) -> str:
        """The run's."""
        return str(self._config.get("name") or "")

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adds the description."""
        checkpoint["zoo"] = contents(self._config, self._spec, trainer.callback_metrics)

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Refuses weights of another vocabulary."""
        require_vocabulary(self._spec, DataSpec.from_dict(checkpoint["zoo"]["spec"]))
