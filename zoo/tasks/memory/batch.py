"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor


class SequenceBatch(NamedTuple):
    """Sequences of bit vectors to read and to answer; see `zoo.core.bit_sequences`.

    Attributes:
        index: `(B,)` int64, each sequence's number in its split.
        inputs: `(B, T, C)` float32, zeros behind the end of a sequence.
        targets: `(B, T, O)` float32.
        scored: `(B, T)` boolean, the steps whose answer counts.
        size: `(B,)` int64, of each sequence.
        apart: `(B,)` boolean, whether its size is measured apart from those of training.
        names: each sequence's name: the split and its number.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    inputs: Tensor
    targets: Tensor
    scored: Tensor
    size: Tensor
    apart: Tensor
    names: list[str]
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "sequences of bit vectors"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in."""
        return {"sequences": len(self.index)}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        sequences, steps, channels = self.inputs.shape
        return f"{sequences} sequences of {steps} steps and {channels} channels"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_size", "data.sequences.longest")
