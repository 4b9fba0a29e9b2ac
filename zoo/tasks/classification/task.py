"""Classification: the network says which class a text, or a document of sentences, belongs to."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, cast

import numpy as np
import torch
import torch.nn.functional as F
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError, MulticlassF1Score

from zoo.core.batch import Documents, Padded, batches_of_like_length
from zoo.core.spec import DataSpec
from zoo.kernels.noise import keyed
from zoo.metrics import MATCH_ITEMS, Measure
from zoo.networks.lstm_attention import Classified
from zoo.tasks.classification.batch import ClassificationBatch
from zoo.tasks.classification.predictor import Classification, Classifier
from zoo.tasks.classification.reader import Raw, Reader
from zoo.tasks.classification.readings import choices_of, redundancy_of, weights_of
from zoo.tasks.classification.rules import absent_metrics, unused_settings
from zoo.tasks.classification.scores import ClassificationScores
from zoo.tasks.exploration import TokenReading, heads_of
from zoo.tasks.pretrained import begin_with_run, run_fits_network
from zoo.tasks.rules import Configured
from zoo.tasks.sampled_readings import ReinforceParts, estimator, reinforce_terms
from zoo.tasks.task import Task
from zoo.tasks.word_vectors import begin_with_vectors, vectors_fit_network

_AT_ONCE = 64
"""The most texts that are classified at once, outside of a data module's batches."""
_TOKENS_AT_ONCE = 16_384
"""The most tokens of them, padding included, which bounds the memory."""


class ClassificationNetwork(Protocol):
    """The network of the task.

    Attributes:
        embed: vectors of its tokens.
    """

    embed: nn.Embedding

    def __call__(self, text: Padded | Documents) -> Classified:
        """Classifies texts `(B, T)`, or B documents."""


class ClassificationTask(Task):
    """Trains by cross-entropy, and by REINFORCE where attention samples what it reads.

    All samples of a text are rewarded with the log-probability of its class: `R = log p(y | x, i)`.

    Args:
        network: built for `spec`.
        spec: the text and its classes.
        optimizer: see `Task`.
        scheduler: see `Task`.
        reinforce: the REINFORCE term, used where the network samples readings.
        penalty: the coefficient of the penalty on hops that read the same (Lin et al. 2017, section 2.2).
        train_items: of so many texts of train, evenly spread, a test measures the accuracy as well, with the
            same weights. What it exceeds the test's by says how much the model overfits. 0: of none.
        monitor: see `Task`.

    Raises:
        ValueError: a number is out of range, or there is one class only.
    """

    network: ClassificationNetwork
    batch_type = ClassificationBatch
    noun, unit = "texts", "words"
    predictor = Classifier
    rules = (vectors_fit_network, run_fits_network)
    metrics: ClassVar = {
        "accuracy": Measure(
            MulticlassAccuracy,
            better="max",
            digits=4,
            headline=True,
            watched=1,
            items=MATCH_ITEMS,
            share=True,
        ),
        "macro_f1": Measure(MulticlassF1Score, better="max", digits=4, role="support", watched=3, share=True),
        "calibration_error": Measure(
            MulticlassCalibrationError, better="min", digits=4, role="support", share=True
        ),
        "train_accuracy": Measure(MeanMetric, better=None, digits=4, role="support", share=True),
        "accuracy_gap": Measure(MeanMetric, better=None, digits=4, role="support"),
        "pointing_accuracy": Measure(MeanMetric, better="max", role="attention", watched=4, share=True),
        "sentence_pointing": Measure(MeanMetric, better="max", role="detail", share=True),
        "word_pointing": Measure(MeanMetric, better="max", role="detail", share=True),
        "loss": Measure(MeanMetric, better="min", role="detail", watched=2),
    }

    @classmethod
    def absent_metrics(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return absent_metrics(configured, cls.metrics)

    @classmethod
    def unused_settings(cls, configured: Configured) -> dict[str, str]:
        """See `Task`."""
        return unused_settings(configured)

    @classmethod
    def reinforced(cls, configured: Configured) -> bool:
        """See `Task`."""
        return configured.samples

    def __init__(
        self,
        *,
        network: nn.Module,
        spec: DataSpec,
        optimizer: Callable[..., Optimizer],
        scheduler: Callable[..., LRScheduler | ReduceLROnPlateau] | None,
        reinforce: ReinforceParts | None,
        penalty: float,
        train_items: int,
        monitor: str,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler, monitor=monitor)
        if not penalty >= 0:
            raise ValueError(f"penalty must be at least 0, got {penalty}")
        if train_items < 0:
            raise ValueError(f"train_items must be at least 0, got {train_items}")
        self.spec, self.classes = spec, spec.label().classes
        if len(self.classes) == 1:
            raise ValueError(f"the data {spec.name} has one class, {self.classes[0]}: nothing can be learned")
        self.network = network  # type: ignore[assignment]
        self.reader = Reader(spec.text("text"))
        self.penalty, self.train_items = penalty, train_items
        self.reinforce = estimator(network, reinforce)
        self.weight = 1.0 if reinforce is None else reinforce.get("weight", 1.0)

    def setup(self, stage: str) -> None:
        """See `Task`; a training begins with word vectors, or the weights of a run, where there are any."""
        super().setup(stage)
        begin_with_vectors(self.network, self.trainer)
        begin_with_run(self.network, self.spec, self.trainer)  # type: ignore[arg-type]

    # Training

    def loss_of(self, batch: ClassificationBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Task`: cross-entropy, what a network adds, the penalty, and REINFORCE for choices."""
        classified = self.network(batch.text)
        nll = F.cross_entropy(classified.logits.float(), batch.labels, reduction="none")
        loss = nll.mean()
        terms = {"cross_entropy": loss}
        if classified.further_loss is not None:
            terms["further_loss"] = classified.further_loss.mean()
            loss = loss + terms["further_loss"]
        if self.penalty:
            terms["redundancy"] = redundancy_of(classified)
            loss = loss + self.penalty * terms["redundancy"]
        if self.reinforce is not None and (choices := choices_of(classified, batch.text)) is not None:
            of_choices = reinforce_terms(self.reinforce, choices, reward=-nll.detach())
            loss = loss + self.weight * of_choices.pop("loss")
            terms |= of_choices
        return loss, terms

    # Evaluation

    def new_scores(self, split: str) -> ClassificationScores:
        """See `Task`."""
        return ClassificationScores(len(self.classes))

    def _evaluate(self, split: str, batch: ClassificationBatch) -> None:
        scores = cast(ClassificationScores, self.scores[split])
        classified = self.network(batch.text)
        log_probs = classified.logits.float().log_softmax(-1)
        scores.update(log_probs, batch.labels)
        if batch.place is not None:
            scores.update_pointing(weights_of(classified, batch.text), batch.place)
        best, found = log_probs.max(-1)
        self._keep_predictions(
            split,
            batch.index,
            input=[as_one_text(raw) for raw in batch.raw],
            references=[[self.classes[label]] for label in batch.labels.tolist()],
            prediction=[self.classes[label] for label in found.tolist()],
            score=best.tolist(),
            probability=best.exp().tolist(),
            finished=[True] * len(batch.index),
        )

    def on_test_epoch_end(self) -> None:
        """See `Task`; the accuracy on train, too."""
        for split in self.test_splits:
            values = self._finish(split)
            if split == "test" and self.train_items:
                on_train = self._accuracy_on_train(self.trainer.datamodule)  # type: ignore[attr-defined]
                gap = on_train - values["test/accuracy"]
                found = {"test/train_accuracy": on_train, "test/accuracy_gap": gap}
                self.log_dict(found, add_dataloader_idx=False)

    def _accuracy_on_train(self, data: Any) -> Tensor:
        """The accuracy on some texts of train; each process measures its part of them."""
        items = len(data.train_dataloader().dataset)
        numbers = np.unique(np.linspace(0, items - 1, min(self.train_items, items)).round().astype(np.int64))
        numbers = numbers[self.trainer.global_rank :: self.trainer.world_size]
        accuracy = MulticlassAccuracy(len(self.classes), average="micro").to(self.device)
        for start in range(0, len(numbers), _AT_ONCE):
            batch = data.batch("train", numbers[start : start + _AT_ONCE])
            batch = move_data_to_device(self.trainer.precision_plugin.convert_input(batch), self.device)
            with self.trainer.precision_plugin.forward_context(), self.as_evaluated(batch.index):
                logits = self.network(batch.text).logits
            accuracy.update(logits.float(), batch.labels)
        return accuracy.compute()

    @torch.no_grad()
    def classify(
        self, texts: Sequence[Raw], *, weights: bool = True, progress: Callable[[int], object] | None = None
    ) -> list[list[Classification]]:
        """The classes of raw texts that are not blank, the likeliest first, found in batches of like length.

        Args:
            texts: raw texts; documents also as lists of sentences.
            weights: whether answers keep the words of the text with their weights.
            progress: called after each batch with its number of texts.
        """
        read = [self.reader.encode(text) for text in texts]
        found: dict[int, list[Classification]] = {}
        for numbers in batches_of_like_length([one.size for one in read], _AT_ONCE, _TOKENS_AT_ONCE):
            text = move_data_to_device(self.reader.batch([read[number] for number in numbers]), self.device)
            with keyed(torch.zeros(len(numbers), dtype=torch.int64, device=self.device)):  # answers repeat
                classified = self.network(text)
            probabilities, classes = classified.logits.float().softmax(-1).sort(-1, descending=True)
            of_words, of_sentences = weights_of(classified, text) if weights else (None, None)
            for row, number in enumerate(numbers):
                shaded = None
                if weights:
                    row_of = (None if one is None else one[row] for one in (of_words, of_sentences))
                    shaded = self.reader.shaded(read[number], *row_of)
                found[number] = [
                    Classification(self.classes[label], probability, shaded, read[number].unread)
                    for label, probability in zip(
                        classes[row].tolist(), probabilities[row].tolist(), strict=True
                    )
                ]
            if progress is not None:
                progress(len(numbers))
        return [found[number] for number in range(len(texts))]

    @torch.no_grad()
    def heads(self, text: str) -> list[TokenReading]:
        """What each head reads in a text that is not blank; nothing of a network without `attention_maps`."""
        read = move_data_to_device(self.reader.batch([self.reader.encode(text)]), self.device)
        return heads_of(self, self.reader.codec, read)


def as_one_text(raw: str | Sequence[str]) -> str:
    """A text, or a document's sentences as one text."""
    return raw if isinstance(raw, str) else " ".join(raw)
