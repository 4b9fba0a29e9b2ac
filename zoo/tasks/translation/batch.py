"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor

from zoo.core.batch import Padded


class TranslationBatch(NamedTuple):
    """Sentence pairs.

    Attributes:
        index: `(B,)` int64, each pair's number in its split.
        source: ids ending in EOS.
        target: ids from BOS to EOS; see `decoder_pair` for the shift.
        source_text: the raw source sentences.
        target_text: the raw references, for the scores.
        alignment: `(B, T-1)` int64, the source position of each predicted token (-1: none); None where the
            data does not know it.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    source: Padded
    target: Padded
    source_text: list[str]
    target_text: list[str]
    alignment: Tensor | None = None
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "pairs of sentences"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in: target tokens to predict, and sentences."""
        pairs = len(self.index)
        return {"tokens": self.target.lengths.sum() - pairs, "sentences": pairs}  # BOS is not predicted

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        sides = (self.source.ids, self.target.ids)
        return ", ".join(f"{len(ids)} sentences x {ids.shape[1]} tokens" for ids in sides)

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_tokens", "data.maximum_length", "model.hidden_size", "decoding.beam_size")
