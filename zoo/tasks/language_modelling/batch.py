"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor


class TextBatch(NamedTuple):
    """Windows of running text, each with the token that follows every token.

    Attributes:
        index: `(B,)` int64, each window's number in its split.
        tokens: `(B, T)` int64 ids; field `text` of the specification. Padding stands behind the end of a
            window that is cut short.
        targets: `(B, T)` int64, the token that follows each; padding where none is to be predicted: behind
            the end, and where a window before has predicted it already.
        carried: `(B,)` boolean, whether the window continues the same row of the batch before it.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    tokens: Tensor
    targets: Tensor
    carried: Tensor
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "windows of text"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in: windows, and tokens that are read."""
        return {"windows": len(self.index), "tokens": self.tokens.numel()}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        return f"{len(self.index)} windows x {self.tokens.shape[1]} tokens"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_size", "data.context")
