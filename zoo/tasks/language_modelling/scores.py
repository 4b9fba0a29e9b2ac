"""The metrics of the task."""

import json
import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torchmetrics import MeanMetric, Metric

from zoo.core.spec import TextSpec
from zoo.metrics import Perplexity
from zoo.metrics.item_scores import UNIT, ItemScore
from zoo.tasks.task import Scores


class LossPerToken:
    """The mean loss over the tokens of some windows, in nats."""

    higher_is_better = False

    def sentence_statistics(self, scores: Sequence[float], tokens: Sequence[int]) -> list[list[int]]:
        """Of each window its loss, in units of 2^-32, and its number of predicted tokens."""
        return [[round(-score * UNIT), count] for score, count in zip(scores, tokens, strict=True)]

    def score(self, sums: Sequence[int]) -> float:
        """The loss of the sums; NaN of none."""
        return sums[0] / sums[1] / UNIT if sums[1] else math.nan


LOSS_ITEMS = ItemScore("loss_per_token", LossPerToken, columns=("score", "tokens"))


class BitsPerCharacter(Metric):
    """The summed loss in bits over the characters of the predicted text: comparable between vocabularies."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    nll: Tensor
    characters: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("nll", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("characters", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, nll: Tensor, characters: int) -> None:
        """Adds a batch: the sum of its tokens' losses in nats, and the characters that these tokens are."""
        self.nll += nll
        self.characters += characters

    def compute(self) -> Tensor:
        """Bits per character; NaN of none."""
        return self.nll / self.characters / math.log(2)


class LossByPosition(Metric):
    """The mean loss of the tokens at each place of a window, `(T,)`, in nats."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    nll: Tensor
    tokens: Tensor

    def __init__(self, context: int) -> None:
        super().__init__()
        self.add_state("nll", torch.zeros(context), dist_reduce_fx="sum")
        self.add_state("tokens", torch.zeros(context), dist_reduce_fx="sum")

    def update(self, nll: Tensor, real: Tensor) -> None:
        """Adds a batch: losses `(B, T)`, 0 where a token is not `real (B, T)`."""
        length = nll.shape[1]
        self.nll[:length] += nll.sum(0)
        self.tokens[:length] += real.sum(0)

    def compute(self) -> Tensor:
        """The means; NaN where no token stands."""
        return self.nll / self.tokens


def kind_of_tokens(text: TextSpec) -> str:
    """What the tokens of a text are: `characters`, `words` or `pieces` of words."""
    model = json.loads(text.tokenizer)["model"]
    if model["type"] != "WordLevel":
        return "pieces"
    special = set(text.special.values())
    single = all(len(token) == 1 for token, number in model["vocab"].items() if number not in special)
    return "characters" if single else "words"


class LanguageScores(Scores):
    """The metrics of one split.

    `perplexity` is `exp` of the mean loss over all predicted tokens, and `accuracy` the share of them that
    are the most probable one. `bits_per_character` exists where tokens tell the text: not of whole words,
    which may be unknown.

    Args:
        text: describes the tokens.
        reading: how the text is read, in words.
    """

    def __init__(self, text: TextSpec, reading: str) -> None:
        super().__init__()
        self.perplexity, self.accuracy = Perplexity(), MeanMetric()
        self.bits_per_character = BitsPerCharacter()
        self.by_position = LossByPosition(text.maximum_length)
        self.kind, self._reading = kind_of_tokens(text), reading

    @property
    def signatures(self) -> dict[str, str]:
        """See `Scores`: what is counted, and how much of the text before it a prediction sees."""
        per_token = f"{self.kind}; {self._reading}"
        found = dict.fromkeys(("loss", "perplexity", "accuracy"), per_token)
        return found if self.kind == "words" else found | {"bits_per_character": self._reading}

    def update(self, nll: Tensor, hits: Tensor, real: Tensor, characters: int) -> None:
        """Adds a batch.

        Args:
            nll: `(B, T)`, the loss of each token in nats; 0 of those that are not predicted.
            hits: `(B, T)` boolean, whether it is the most probable one.
            real: `(B, T)` boolean, which tokens are predicted.
            characters: that these tokens are.
        """
        total = nll.sum()
        self.perplexity.update(total, real.sum())
        self.accuracy.update(hits.float(), real.float())
        self.bits_per_character.update(total, characters)
        self.by_position.update(nll, real)

    def compute(self) -> dict[str, Tensor]:
        """See `Scores`."""
        values = {**self.perplexity.compute(), "accuracy": self.accuracy.compute()}
        if self.kind != "words":
            values["bits_per_character"] = self.bits_per_character.compute()
        return values
