"""Recognition: the network classifies an image, after a few glimpses or at once."""

from collections.abc import Callable
from typing import ClassVar, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import MeanMetric, Metric

from zoo.attention import Reinforce, reward_to_go
from zoo.core.spec import DataSpec
from zoo.metrics import WRONG_ITEMS, Error, Measure
from zoo.networks.ram import Recognised
from zoo.tasks.policy_gradient import (
    CollapseAlarm,
    ReinforceParts,
    check_reinforce,
    location_policy,
    location_terms,
    saturated,
)
from zoo.tasks.recognition.batch import ImageBatch
from zoo.tasks.recognition.glimpse_path import GlimpsePath
from zoo.tasks.recognition.predictor import Recogniser
from zoo.tasks.rules import Configured
from zoo.tasks.task import Scores, Task


class RecognitionNetwork(Protocol):
    """The network of the task."""

    def recognise(self, images: Tensor, *, episodes: int = 1, sample: bool = False) -> Recognised:
        """See `RecurrentAttentionModel`."""


class LookingNetwork(RecognitionNetwork, Protocol):
    """A network with a `LocationPolicy` that learns: a baseline of its reward reads its states."""

    hidden_size: int


class RecognitionScores(Scores):
    """The metrics of one split.

    `error` is that of the most likely locations. Averages over sampled episodes can hide a policy that has
    learned little, so they have names of their own.

    Args:
        samples: for each error of samples, the number of episodes whose probabilities are averaged.
        glimpses: whether the network takes glimpses.
    """

    def __init__(self, samples: tuple[int, ...], *, glimpses: bool) -> None:
        super().__init__()
        self.samples = samples if glimpses else ()
        names = [self.name(number) for number in self.samples]
        self.errors = nn.ModuleDict({name: Error() for name in ("error", *names)})
        self.loss = MeanMetric()
        self.saturation = MeanMetric() if glimpses else None

    @staticmethod
    def name(samples: int) -> str:
        """The name of the error with so many samples."""
        return f"error_{samples}_sample{'s' if samples > 1 else ''}"

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`."""
        metrics = {name: cast(Metric, metric) for name, metric in self.errors.items()}
        metrics["loss"] = self.loss
        if self.saturation is not None:
            metrics["saturation"] = self.saturation
        return {name: metric.compute() for name, metric in metrics.items()}


class RecognitionTask(Task):
    """Trains the classifier by cross-entropy and the policy by REINFORCE (Mnih et al. 2014, section 3.2).

    The reward is 1 for a right answer at the end of an episode. Cross-entropy trains on the same sampled
    episodes: the hybrid loss. `Task` describes the other arguments.

    Args:
        network: built for `spec`.
        spec: the images and their classes.
        episodes: M, sampled with each training image where the network's policy samples.
        reinforce: used only where the network's policy learns.

    Raises:
        ValueError: a number is out of range.
    """

    network: RecognitionNetwork
    batch_type = ImageBatch
    noun, unit = "images", "images"
    predictor = Recogniser
    metrics: ClassVar = {
        "error": Measure(
            Error, better="min", digits=4, headline=True, watched=1, items=WRONG_ITEMS, share=True
        ),
        "error_1_sample": Measure(Error, better="min", digits=4, role="support", share=True),
        "error_10_samples": Measure(Error, better="min", digits=4, role="support", share=True),
        "loss": Measure(MeanMetric, better="min", role="detail", watched=2),
        "saturation": Measure(MeanMetric, better=None, role="detail"),
    }

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """See `Task`; some metrics need a policy, and one is measured by tests alone."""
        absent = {"error_10_samples": "validations draw one sample of each image"}
        if not configured.looks:
            absent |= dict.fromkeys(("error_1_sample", "saturation"), "the model takes no glimpses")
        return absent

    @classmethod
    def unused_settings(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        of_glimpses = ("task.episodes", "task.reinforce")
        return {} if configured.looks else dict.fromkeys(of_glimpses, "the model sees whole images")

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        episodes: int,
        reinforce: ReinforceParts,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        if episodes < 1:
            raise ValueError(f"episodes must be at least 1, got {episodes}")
        check_reinforce(reinforce)
        self.network = network  # type: ignore[assignment]
        self.spec, self.classes = spec, spec.label().classes
        self.episodes = episodes
        self.policy = location_policy(network)
        self._samples = self.policy is not None and self.policy.samples
        self.reinforce: Reinforce | None = None
        if self.policy is not None and self.policy.learned:
            self.reinforce = Reinforce(
                baseline=reinforce["baseline"](state_size=cast(LookingNetwork, self.network).hidden_size)
            )
            self.weight, self.discount = reinforce["weight"], reinforce["discount"]
        self._alarm = CollapseAlarm()

    # Training

    def loss_of(self, batch: ImageBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """The hybrid loss of M sampled episodes with each image."""
        episodes = self.episodes if self._samples else 1  # which has the same gradient
        recognised = self.network.recognise(batch.images, episodes=episodes, sample=True)
        logits = recognised.logits.flatten(0, 1)
        labels = batch.labels.repeat_interleave(recognised.logits.shape[1])
        loss = F.cross_entropy(logits, labels)
        terms = {"cross_entropy": loss}
        if self.reinforce is not None:
            right = (logits.argmax(-1) == labels).float()
            reward = F.pad(right[:, None], (len(recognised.glimpses) - 1, 0))  # (B M, T), at the end
            of_locations = location_terms(
                self.reinforce, recognised.glimpses, reward_to_go(reward, self.discount)
            )
            self._alarm.add(of_locations["saturation"])
            loss = loss + self.weight * of_locations.pop("loss")
            terms |= of_locations
        return loss, terms

    def on_train_epoch_end(self) -> None:
        """Warns where the policy has collapsed."""
        self._alarm.end_epoch(self.current_epoch)

    # Evaluation

    def new_scores(self, split: str) -> RecognitionScores:
        """See `Task`; validations do without ten samples, which are ten times the work."""
        return RecognitionScores((1,) if split == "val" else (1, 10), glimpses=self.policy is not None)

    def _evaluate(self, split: str, batch: ImageBatch) -> None:
        scores = cast(RecognitionScores, self.scores[split])
        recognised = self.network.recognise(batch.images)
        log_probs = recognised.logits[:, 0].float().log_softmax(-1)
        best, classes = log_probs.max(-1)
        scores.loss.update(F.nll_loss(log_probs, batch.labels, reduction="none"))
        cast(Error, scores.errors["error"]).update((classes != batch.labels).float())
        for samples in scores.samples:
            found = classes
            if self._samples:
                sampled = self.network.recognise(batch.images, episodes=samples, sample=True)
                found = sampled.logits.float().softmax(-1).mean(1).argmax(-1)
            cast(Error, scores.errors[scores.name(samples)]).update((found != batch.labels).float())
        looks = [glimpsed.look for glimpsed in recognised.glimpses]
        if scores.saturation is not None:
            scores.saturation.update(saturated(torch.stack([look.mean for look in looks])), len(batch.index))
        locations = torch.stack([look.location[:, 0] for look in looks], 1).tolist() if looks else None
        self._keep_predictions(
            split,
            batch.index,
            input=batch.names,
            references=[[self.classes[label]] for label in batch.labels.tolist()],
            prediction=[self.classes[found] for found in classes.tolist()],
            score=best.tolist(),
            finished=[True] * len(batch.index),
            **({"locations": locations} if locations else {}),
        )

    @torch.no_grad()
    def paths(self, images: Tensor, labels: Tensor | None = None) -> list[GlimpsePath]:
        """The path of glimpses over each image, at the most likely locations.

        Args:
            images: `(B, C, H, W)` in [0, 1].
            labels: `(B,)`, where they are known.

        Raises:
            ValueError: the network sees whole images.
        """
        if self.policy is None:
            raise ValueError("a model that sees whole images takes no glimpses")
        recognised = self.network.recognise(images.to(self.device))
        best, classes = recognised.logits[:, 0].float().softmax(-1).max(-1)
        locations = torch.stack([glimpsed.look.location[:, 0] for glimpsed in recognised.glimpses], 1)
        glimpses = torch.stack([glimpsed.glimpse[:, 0] for glimpsed in recognised.glimpses], 1)
        return [
            GlimpsePath(
                image=image,
                locations=locations[row].float().cpu(),
                glimpses=glimpses[row].float().cpu(),
                label=None if labels is None else self.classes[int(labels[row])],
                prediction=self.classes[int(classes[row])],
                probability=float(best[row]),
            )
            for row, image in enumerate(images.float().cpu())
        ]
