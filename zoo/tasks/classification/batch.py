"""The batch of the task."""

from typing import NamedTuple

from torch import Tensor

from zoo.core.batch import Documents, Padded


class ClassificationBatch(NamedTuple):
    """Texts of classes.

    Attributes:
        index: `(B,)` int64, each text's number in its split.
        text: ids of each text, or of each sentence of documents, ending in EOS where the text has it; field
            `text` of the specification.
        labels: `(B,)` int64; field `label`.
        raw: the texts as the data has them, of documents the sentences of each.
        place: where it is known, what decides: `(B, 1)` int64 the token of each text, `(B, 2)` the sentence
            of each document and the token in it; -1 where that was cut off. None where nobody knows it.
        loss_weight: see `data.core.batching`.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no batch needs
    text: Padded | Documents
    labels: Tensor
    raw: list[str] | list[list[str]]
    place: Tensor | None = None
    loss_weight: float = 1.0

    @staticmethod
    def contents() -> str:
        """Its content in words, for messages."""
        return "texts of classes"

    @property
    def throughput_counts(self) -> dict[str, Tensor | int]:
        """What speed is measured in: texts, and real tokens."""
        parts = self.text.groups if isinstance(self.text, Documents) else (self.text,)
        return {"texts": len(self.index), "words": sum((part.lengths.sum() for part in parts), start=0)}

    @property
    def shape(self) -> str:
        """Its size in words, for messages."""
        if isinstance(self.text, Documents):
            sentences = sum(len(group.ids) for group in self.text.groups)
            longest = max((group.ids.shape[1] for group in self.text.groups), default=0)
            return f"{len(self.index)} documents of {sentences} sentences of at most {longest} tokens"
        return f"{len(self.index)} texts x {self.text.ids.shape[1]} tokens"

    @property
    def memory_keys(self) -> tuple[str, ...]:
        """Settings that change how much memory it takes, its size first."""
        return ("data.batch_tokens", "data.maximum_length", "model.hidden_size")
