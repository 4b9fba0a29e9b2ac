"""What every task does alike: its optimiser and schedule, its splits, its predictions."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import lightning.pytorch as pl
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau


class Scores(nn.Module, ABC):
    """The metrics of one split."""

    @abstractmethod
    def compute(self) -> dict[str, Tensor]:
        """The values of a whole split by name; the next one starts from nothing."""

    @property
    def signatures(self) -> dict[str, str]:
        """How metrics were computed, where their names do not say it."""
        return {}


class Task(pl.LightningModule, ABC):
    """Trains, validates and tests a network.

    Attributes:
        batch_type: what it takes.
        validated: names of all that its validations may measure.
        scores: by split, its metrics.
        terms: of the newest training step's loss, `loss` among them, without gradients.
        predictions: by split, one mapping for each item with its number as `id`, in the data's order once the
            split is finished.

    Args:
        optimizer: completed here with the parameters.
        scheduler: completed here with the optimizer; None for a constant rate.
        monitor: the metric that picks the best checkpoint (and that a plateau schedule watches).
    """

    batch_type: ClassVar[type]
    validated: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        *,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        monitor: str,
    ) -> None:
        super().__init__()
        self.optimizer, self.scheduler, self.monitor = optimizer, scheduler, monitor
        self.scores = nn.ModuleDict()
        self.predictions: dict[str, list[dict[str, Any]]] = {}
        self.terms: dict[str, Tensor] = {}
        self._evaluated = "val"  # the split that was evaluated last

    @abstractmethod
    def new_scores(self, split: str) -> Scores:
        """The metrics of a split, unused."""

    @property
    def signatures(self) -> dict[str, str]:
        """How the metrics of the split that was evaluated last were computed."""
        return cast(Scores, self.scores[self._evaluated]).signatures

    def configure_optimizers(self) -> Any:
        """The optimiser over everything trainable, and its schedule per step (a plateau: per validation)."""
        optimizer = self.optimizer(weight for weight in self.parameters() if weight.requires_grad)
        # A fused optimiser offers to unscale float16 gradients in its step. That is too late for clipping, so
        # Lightning refuses to clip for it in any mixed precision, even where nothing is scaled.
        optimizer._step_supports_amp_scaling = False  # type: ignore[attr-defined]  # torch's name of the offer
        if self.scheduler is None:
            return optimizer
        schedule = {"scheduler": self.scheduler(optimizer), "interval": "step"}
        if isinstance(schedule["scheduler"], ReduceLROnPlateau):
            # Lightning would step it at the end of epochs, whether these validate or not: never let it, and
            # step at the end of a validation.
            schedule |= {"frequency": sys.maxsize, "monitor": self.monitor}
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def controls(self, data: Any) -> dict[str, dict[str, float]]:
        """What answers without a model score, by test split, to stand beside the model's own scores.

        Args:
            data: the data module, whose test splits have just been tested.
        """
        baselines: dict[str, dict[str, float]] = data.baselines
        return baselines

    @property
    def test_splits(self) -> list[str]:
        """The data's, in the order of their loaders."""
        splits: list[str] = self.trainer.datamodule.test_splits  # type: ignore[attr-defined]
        return splits

    def setup(self, stage: str) -> None:
        """Makes the metrics of every split that will be evaluated."""
        for split in ["val"] if stage in ("fit", "validate") else self.test_splits:
            self.scores[split] = self.new_scores(split)

    def note_terms(self, loss: Tensor, terms: Mapping[str, Tensor]) -> None:
        """Keeps what a training step's loss was made of, to be logged and shown."""
        self.terms = {name: term.detach() for name, term in {"loss": loss, **terms}.items()}

    def on_train_batch_end(self, *_: object) -> None:
        """Logs the terms at steps that are logged: with those of all, Lightning is busy for milliseconds."""
        if self.trainer._logger_connector.should_update_logs:
            self.log_dict({f"train/{name}": term for name, term in self.terms.items()}, batch_size=1)

    def on_validation_epoch_start(self) -> None:
        """Forgets the last validation's predictions."""
        self.predictions["val"] = []

    def on_validation_epoch_end(self) -> None:
        """Logs the metrics, and lets a plateau schedule see its own when this belongs to a training."""
        values = self._finish("val")
        schedule = self.lr_schedulers()
        in_training = self.trainer.state.fn == "fit" and not self.trainer.sanity_checking
        if isinstance(schedule, ReduceLROnPlateau) and in_training:
            schedule.step(float(values[self.monitor]))

    def on_test_epoch_start(self) -> None:
        """Makes room for the predictions of every test split."""
        self.predictions |= {split: [] for split in self.test_splits}

    def on_test_epoch_end(self) -> None:
        """Logs the metrics of every test split."""
        for split in self.test_splits:
            self._finish(split)

    def _finish(self, split: str) -> dict[str, Tensor]:
        """Logs a split's metrics, which it returns, and puts its predictions in the data's order."""
        self._evaluated = split
        if self.trainer.world_size > 1:  # each process predicted a part
            parts: list[list[dict[str, Any]]] = [[]] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, self.predictions[split])
            self.predictions[split] = [prediction for part in parts for prediction in part]
        self.predictions[split].sort(key=lambda prediction: int(prediction["id"]))
        values = cast(Scores, self.scores[split]).compute()
        logged = {f"{split}/{name}": value for name, value in values.items()}
        self.log_dict(logged, add_dataloader_idx=False)
        return logged
