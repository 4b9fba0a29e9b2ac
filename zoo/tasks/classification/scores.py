"""The metrics of the task."""

import torch
from torch import Tensor
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError, MulticlassF1Score

from zoo.tasks.classification.readings import Weights, pointing
from zoo.tasks.task import Scores

BINS = 15
"""Of the calibration error, as in Guo et al. 2017, section 4."""


class ClassificationScores(Scores):
    """The metrics of one split.

    `calibration_error` is the expected one (Naeini et al. 2015; Guo et al. 2017, eq. 3):
    `Σ_m |B_m| / n · |acc(B_m) - conf(B_m)|` over bins of the probability of the answer.

    `pointing_accuracy` is the share of texts whose largest weight lies at the word that decides. Of documents
    it must lie at the right sentence, and in it at the right word, as far as attention reads either.

    Args:
        classes: C.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.accuracy = MulticlassAccuracy(classes, average="micro")
        self.macro_f1 = MulticlassF1Score(classes, average="macro")
        self.calibration_error = MulticlassCalibrationError(classes, n_bins=BINS, norm="l1")
        self.loss = MeanMetric()
        self.pointing_accuracy = MeanMetric()
        self.word_pointing, self.sentence_pointing = MeanMetric(), MeanMetric()

    @property
    def signatures(self) -> dict[str, str]:
        """See `Scores`."""
        return {
            "macro_f1": "mean over the classes that occur or are predicted",
            "calibration_error": f"{BINS} bins of equal width, mean of absolute differences",
        }

    def update(self, log_probs: Tensor, labels: Tensor) -> None:
        """Adds answers.

        Args:
            log_probs: `(B, C)` float32.
            labels: `(B,)`.
        """
        self.loss.update(-log_probs.gather(-1, labels.unsqueeze(-1)))
        probabilities = log_probs.exp()
        for metric in (self.accuracy, self.macro_f1, self.calibration_error):
            metric.update(probabilities, labels)

    def update_pointing(self, weights: Weights, place: Tensor) -> None:
        """Adds weights of texts whose place that decides is known; places that were cut off do not count.

        Args:
            weights: of words, sentences or both.
            place: `(B, 1)` words, or `(B, 2)` sentences and words in them.
        """
        known = (place >= 0).all(-1)
        place = place.clamp_min(0)
        hits = []
        if weights.sentences is not None:
            hits.append(pointing(weights.sentences, place[:, 0]))
            self.sentence_pointing.update(hits[-1], known.float())
        if weights.words is not None:
            words = weights.words
            if place.shape[-1] == 2:
                words = words[torch.arange(len(words), device=words.device), place[:, 0]]
            hits.append(pointing(words, place[:, -1]))
            if place.shape[-1] == 2:
                self.word_pointing.update(hits[-1], known.float())
        if hits:
            self.pointing_accuracy.update(torch.stack(hits).prod(0), known.float())

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`; metrics of pointing only where places are known and something attends."""
        values = {
            "accuracy": self.accuracy.compute(),
            "macro_f1": self.macro_f1.compute(),
            "calibration_error": self.calibration_error.compute(),
            "loss": self.loss.compute(),
        }
        for name in ("pointing_accuracy", "word_pointing", "sentence_pointing"):
            metric = getattr(self, name)
            if metric.update_called and not (pointing := metric.compute()).isnan():
                values[name] = pointing
        return values
