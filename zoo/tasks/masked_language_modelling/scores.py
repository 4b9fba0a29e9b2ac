"""The metrics of the task."""

from torch import Tensor
from torchmetrics import MeanMetric

from zoo.metrics.perplexity import Perplexity
from zoo.tasks.task import Scores


class MaskedAccuracy(MeanMetric):
    """The share of chosen tokens that the model names."""

    higher_is_better = True  # type: ignore[assignment]  # None in the base class
    per_token = True  # another vocabulary makes another question of it


class MaskedLoss(MeanMetric):
    """The mean negative log-likelihood of chosen tokens, in nats."""

    higher_is_better = False  # type: ignore[assignment]
    per_token = True


class MaskedScores(Scores):
    """The metrics of one split.

    Args:
        masked: what was masked, in words.
        read: which texts the model reads, in words.
        pairs: whether they are pairs.
    """

    def __init__(self, masked: str, read: str, *, pairs: bool) -> None:
        super().__init__()
        self.masked, self.read, self.pairs = masked, read, pairs
        self.loss, self.accuracy = Perplexity(), MaskedAccuracy()
        self.next_sentence_loss, self.next_sentence_accuracy = MeanMetric(), MeanMetric()

    @property
    def signatures(self) -> dict[str, str]:
        """See `Scores`."""
        found = dict.fromkeys(("loss", "perplexity", "accuracy"), f"{self.masked}; {self.read}")
        of_pairs = ("next_sentence_loss", "next_sentence_accuracy") if self.pairs else ()
        return found | dict.fromkeys(of_pairs, self.read)

    def update(self, nll: Tensor, right: Tensor) -> None:
        """Adds chosen tokens: `(M,)` negative log-likelihoods, and whether the likeliest token is right."""
        self.loss.update(nll.sum(), len(nll))
        self.accuracy.update(right.float())

    def update_pairs(self, nll: Tensor, right: Tensor) -> None:
        """Adds pairs, `(B,)` likewise."""
        self.next_sentence_loss.update(nll)
        self.next_sentence_accuracy.update(right.float())

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`."""
        values = {**self.loss.compute(), "accuracy": self.accuracy.compute()}
        if self.pairs:
            values["next_sentence_loss"] = self.next_sentence_loss.compute()
            values["next_sentence_accuracy"] = self.next_sentence_accuracy.compute()
        return values
