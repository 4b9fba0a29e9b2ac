"""Makes every checkpoint describe itself."""

from collections.abc import Mapping
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch import Callback

from zoo.core.spec import DataSpec
from zoo.training.checkpoint import contents, require_vocabulary


class SelfDescription(Callback):
    """Puts configuration, vocabularies and validation metrics into every checkpoint.

    On the way back the vocabularies are compared with the data's.

    Args:
        config: the resolved configuration in plain containers.
        spec: the data.
    """

    def __init__(self, *, config: Mapping[str, Any], spec: DataSpec) -> None:
        self._config = config
        self._spec = spec

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adds the description."""
        checkpoint["zoo"] = contents(self._config, self._spec, trainer.callback_metrics)

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Refuses weights that were trained with another vocabulary."""
        require_vocabulary(self._spec, DataSpec.from_dict(checkpoint["zoo"]["spec"]))
