"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor

from zoo.core.batch import Padded


class MatchingBatch(NamedTuple):
    """Pairs of texts.

    Attributes:
        index: `(B,)` int64, each pair's number in its split.
        left: ids of one text, ending in EOS where the text has it; field `left` of the specification.
        right: those of the other; field `right`.
        answers: `(B,)`, labels (int64, field `label`) or degrees (float32, field `degree`).
        left_text: the texts as the data has them.
        right_text: likewise.
        group: `(B,)` int64, the question whose candidates are ranked against each other; None where nothing
            is ranked.
        overlap: `(B, 2)` float32, see `zoo.core.overlap`; None where the data does not count it.
        alignment: `(B, L_left)` int64, for each token of the left text the position of the right one's token
            that belongs to it, -1: none; None where nobody knows it.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    left: Padded
    right: Padded
    answers: Tensor
    left_text: list[str]
    right_text: list[str]
    group: Tensor | None = None
    overlap: Tensor | None = None
    alignment: Tensor | None = None
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "pairs of texts to match"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in: pairs, and real tokens of both texts."""
        return {"pairs": len(self.index), "words": self.left.lengths.sum() + self.right.lengths.sum()}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        return f"{len(self.index)} pairs of {self.left.ids.shape[1]} and {self.right.ids.shape[1]} tokens"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_tokens", "data.maximum_length")
