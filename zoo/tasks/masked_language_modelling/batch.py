"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor

from zoo.core.batch import Padded


class MaskedBatch(NamedTuple):
    """Texts, or pairs of texts, with masked tokens.

    Attributes:
        index: `(B,)` int64, each text's number in its split.
        text: `CLS a SEP`, or `CLS a SEP b SEP`, as the network reads it; field `text` of the specification.
        segments: `(B, T)` int64, 0 up to the first SEP, 1 behind it.
        places: `(M,)` int64, where the chosen tokens stand in the flattened ids: row x T + column.
        labels: `(M,)` int64, what stood there.
        follows: `(B,)` int64, whether b follows a; field `follows`. None without pairs.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    text: Padded
    segments: Tensor
    places: Tensor
    labels: Tensor
    follows: Tensor | None = None
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "texts with masked tokens"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in: texts, and real tokens."""
        return {"texts": len(self.index), "tokens": self.text.lengths.sum()}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        return f"{len(self.index)} texts x {self.text.ids.shape[1]} tokens"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_tokens", "data.maximum_length", "model.model_size")
