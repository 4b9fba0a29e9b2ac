"""What all tasks have in common: optimiser, schedule, splits, predictions."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, ClassVar, cast

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Timer
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import Metric

from zoo.attention import MovingAverageBaseline
from zoo.kernels.noise import keyed
from zoo.loggers.harmless import Dashboard
from zoo.metrics.measure import Better, Control, Measure, mode_of
from zoo.tasks.predictor import Predictor
from zoo.tasks.rules import Configured, Rule
from zoo.training.schedules import complete


class Scores(nn.Module, ABC):
    """The metrics of one split."""

    @abstractmethod
    def compute(self) -> dict[str, Tensor]:
        """The values of a whole split by name."""

    def finish(self) -> dict[str, Tensor]:
        """The values of a whole split by name; the next split starts from nothing."""
        values = self.compute()
        for metric in self.modules():
            if isinstance(metric, Metric):
                metric.reset()
        return values

    @property
    def signatures(self) -> dict[str, str]:
        """How metrics were computed, by name, where the name does not say it."""
        return {}


class Task(pl.LightningModule, ABC):
    """Trains, validates and tests a network.

    Attributes:
        batch_type: the batches that it takes.
        noun: its items, for messages.
        unit: what its speed is shown in: a key of its batches' `throughput_counts`.
        predictor: what uses a trained model; None where nothing does.
        metrics: all that it may measure, in the order of published tables.
        controls: answers without the model, by the prefix that their scores have in `control_scores`.
        rules: for the configuration check: what its parts ask of each other.
        telling: names of the metrics that progress shows, in the order of `Measure.watched`; the first one is
            proposed in place of a monitor that never changes.
        scores: the metrics of each split.
        terms: the newest training step's loss and its terms by name, without gradients.
        predictions: by split, one mapping for each item with its number as `id`; in the data's order at the
            end of the split.

    Args:
        optimizer: completed here with the parameters.
        scheduler: completed here with the optimizer; None for a constant learning rate.
        monitor: the metric that picks the best checkpoint and that a plateau schedule watches.
    """

    batch_type: ClassVar[type]
    noun: ClassVar[str] = "items"
    unit: ClassVar[str] = "items"
    predictor: ClassVar[type[Predictor] | None] = None
    metrics: ClassVar[Mapping[str, Measure]]
    controls: ClassVar[Mapping[str, Control]] = {"majority": Control("the most frequent answer")}
    telling: ClassVar[tuple[str, ...]] = ()
    rules: ClassVar[tuple[Rule, ...]] = ()

    def __init_subclass__(cls, *, abstract: bool = False, **named: Any) -> None:
        """Refuses a task that no data fits, or whose results.json would not say how to read its metrics.

        Args:
            abstract: whether its subclasses are the tasks.
            named: for other base classes.

        Raises:
            TypeError: the task has no headline, a metric that is no `Measure`, or no type of batch.
        """
        super().__init_subclass__(**named)
        if abstract:
            return
        metrics = getattr(cls, "metrics", {})
        if not isinstance(metrics, Mapping):
            raise TypeError(f"{cls.__name__}.metrics must map names to Measures, got {metrics!r}")
        for name, one in metrics.items():
            if not isinstance(one, Measure):
                raise TypeError(f"{cls.__name__}.metrics[{name!r}] must be a Measure, got {one!r}")
        predictor = cls.predictor
        if predictor is not None and not (isinstance(predictor, type) and issubclass(predictor, Predictor)):
            raise TypeError(f"{cls.__name__}.predictor must be a Predictor class or None, got {predictor!r}")
        if not any(one.headline for one in metrics.values()):
            raise TypeError(f"{cls.__name__}.metrics must have a Measure with headline=True")
        if not isinstance(getattr(cls, "batch_type", None), type):
            raise TypeError(
                f"{cls.__name__} does not say its batch_type, the class of the batches that it takes"
            )
        watched = [name for name, one in metrics.items() if one.watched]
        cls.telling = tuple(sorted(watched, key=lambda name: metrics[name].watched))

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
        self.tests_rates = False  # in which all stays as at the start of a training
        self._evaluated = "val"  # the split that was evaluated last
        self._parts: list[dict[str, Tensor]] = []  # the terms of each part of the batch so far
        self._stepped = True  # what comes next is the first part of a batch
        self._seed = torch.initial_seed()  # the same in all processes while they build their models

    # For the configuration check

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """Those of `metrics` that validations do not have in a configuration, with the reason."""
        return {}

    @classmethod
    def mode_of(cls, monitor: str, absent: Mapping[str, str] = MappingProxyType({})) -> Better:
        """Which value of a monitor, such as `val/bleu`, is the best.

        Args:
            monitor: a metric, as it is logged.
            absent: what `absent_metrics` says of the configuration.

        Raises:
            ValueError: no validation measures it, or neither side of it is better.
        """
        return mode_of(cls.metrics, monitor, absent)

    @classmethod
    def unused_settings(cls, configured: Configured) -> dict[str, str]:
        """Keys of settings that change nothing in a configuration, with the reason."""
        return {}

    @classmethod
    def reinforced(cls, configured: Configured) -> bool:
        """Whether a configuration trains anything by REINFORCE."""
        return configured.learns_where_to_look

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
        schedule = {"scheduler": complete(self.scheduler, optimizer, self._spent_time()), "interval": "step"}
        if isinstance(schedule["scheduler"], ReduceLROnPlateau):
            # Lightning would step it at the end of epochs, whether these validate or not: never let it, and
            # step at the end of a validation.
            schedule |= {"frequency": sys.maxsize, "monitor": self.monitor}
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def _spent_time(self) -> Callable[[], float] | None:
        """The share of `trainer.max_time` that is over, alike in all processes; None: there is no limit."""
        trainer = self._trainer
        timer = next((one for one in getattr(trainer, "callbacks", ()) if isinstance(one, Timer)), None)
        if trainer is None or timer is None or timer.time_remaining() is None:
            return None

        def spent() -> float:
            over = timer.time_elapsed()
            share = over / (over + (timer.time_remaining() or 0.0))
            return float(trainer.strategy.broadcast(share)) if trainer.world_size > 1 else share

        return spent

    def _share_done(self) -> float:
        """The share of the training that is over, in steps or, where that is limited, in time."""
        if self.tests_rates:
            return 0.0
        steps = self.trainer.global_step / self.trainer.estimated_stepping_batches
        spent = self._spent_time()
        return steps if spent is None else max(steps, spent())

    def control_scores(self, data: Any) -> dict[str, dict[str, float]]:
        """The scores of controls, which answer without the model, by test split.

        Args:
            data: the data module, whose test splits have just been tested.
        """
        baselines: dict[str, dict[str, float]] = data.baselines
        return baselines

    def details(self) -> dict[str, Any]:
        """What results.json says of a test besides metrics, by key."""
        return {}

    @property
    def test_splits(self) -> list[str]:
        """The data's test splits, in the order of their loaders."""
        splits: list[str] = self.trainer.datamodule.test_splits  # type: ignore[attr-defined]
        return splits

    def setup(self, stage: str) -> None:
        """Makes the metrics of every split that will be evaluated."""
        self._averages = [part for part in self.modules() if isinstance(part, MovingAverageBaseline)]
        for logger in self.loggers:
            if isinstance(logger, Dashboard):
                logger.better = {
                    f"val/{name}": one.better for name, one in self.metrics.items() if one.better
                }
        for split in ["val"] if stage in ("fit", "validate") else self.test_splits:
            self.scores[split] = self.new_scores(split)

    # Training

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """The loss of a batch, or of a part of it, weighted so that the mean over all parts is the batch's.

        What is sampled belongs to the items, dropout to the process.
        """
        with keyed(batch.index, self._seed, self.current_epoch):
            loss, terms = self.loss_of(batch)
        self._keep_terms({"loss": loss, **terms}, batch.loss_weight)
        weighted: Tensor = loss * batch.loss_weight
        return weighted

    @abstractmethod
    def loss_of(self, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch to train on, a mean over items or tokens, and its terms by name."""

    def _keep_terms(self, terms: Mapping[str, Tensor], loss_weight: float) -> None:
        """Keeps the terms of the step's loss, the mean over its parts, to be logged and shown."""
        if self._stepped:
            self._parts, self._stepped = [], self._trainer is None  # without one, every call is a step
        self._parts.append({name: term.detach() * loss_weight for name, term in terms.items()})
        self.terms = self._parts[0]
        if len(self._parts) > 1:
            self.terms = {name: torch.stack([part[name] for part in self._parts]).mean(0) for name in terms}

    def on_train_batch_end(self, *_: object) -> None:
        """Updates moving averages of rewards after each step; logs the terms at the steps that are logged.

        To log them at every step would cost milliseconds.
        """
        if self.trainer.fit_loop.epoch_loop._should_accumulate():
            return
        self._stepped = True
        for average in self._averages:
            average.update(self.trainer.strategy.reduce(self.terms["reward"].clone(), reduce_op="mean"))
        if self.trainer._logger_connector.should_update_logs:
            terms = {f"train/{name}": term for name, term in self.terms.items()}
            self.log_dict(terms, batch_size=1, sync_dist=self.trainer.world_size > 1)

    # Evaluation

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Measures a batch."""
        self._measure("val", batch)

    def test_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Measures a batch."""
        self._measure(self.test_splits[dataloader_idx], batch)

    def as_evaluated(self, index: Tensor) -> AbstractContextManager[None]:
        """A context in which samples depend on the items' numbers `(B,)`, not on the batch."""
        return keyed(index.to(self.device), self._seed)

    def _measure(self, split: str, batch: Any) -> None:
        with self.as_evaluated(batch.index):
            self._evaluate(split, batch)

    @abstractmethod
    def _evaluate(self, split: str, batch: Any) -> None:
        """Updates a split's scores with a batch and keeps its predictions, see `_keep_predictions`."""

    def _keep_predictions(self, split: str, index: Tensor, **columns: Iterable[Any]) -> None:
        """Keeps what belongs to each item of a batch.

        Args:
            split: the split.
            index: `(B,)`, the items' numbers.
            columns: a value for each item of `input`, `references`, `prediction`, `score`, ...
        """
        rows = zip(index.tolist(), *columns.values(), strict=True)
        self.predictions[split] += [dict(zip(("id", *columns), row, strict=True)) for row in rows]

    def on_validation_epoch_start(self) -> None:
        """Drops the last validation's predictions."""
        self.predictions["val"] = []

    def on_validation_epoch_end(self) -> None:
        """Logs the metrics; in a training, steps a plateau schedule."""
        values = self._finish("val")
        schedule = self.lr_schedulers()
        in_training = self.trainer.state.fn == "fit" and not self.trainer.sanity_checking
        if isinstance(schedule, ReduceLROnPlateau) and in_training:
            schedule.step(float(values[self.monitor]))

    def on_test_epoch_start(self) -> None:
        """Drops the predictions of every test split."""
        self.predictions |= {split: [] for split in self.test_splits}

    def on_test_epoch_end(self) -> None:
        """Logs the metrics of every test split."""
        for split in self.test_splits:
            self._finish(split)

    def _finish(self, split: str) -> dict[str, Tensor]:
        """Logs and returns a split's metrics, and puts its predictions in the data's order."""
        self._evaluated = split
        if self.trainer.world_size > 1:  # each process predicted a part
            parts: list[list[dict[str, Any]]] = [[]] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, self.predictions[split])
            self.predictions[split] = [prediction for part in parts for prediction in part]
        self.predictions[split].sort(key=lambda prediction: int(prediction["id"]))
        values = cast(Scores, self.scores[split]).finish()
        logged = {f"{split}/{name}": value for name, value in values.items()}
        self.log_dict(logged, add_dataloader_idx=False)
        return logged
