"""The vocabulary of a run, for a model that begins with its weights, or is compared with one that does."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from tokenizers import Tokenizer, trainers

from data.text.vocabulary import Vocabulary
from zoo.core.spec import TextSpec
from zoo.training.checkpoint import read_checkpoint


@dataclass(frozen=True, kw_only=True, repr=False)
class OfRun(Vocabulary):
    """The tokenizer that a run was trained with; every text gets it as it is.

    Attributes:
        run: the run's folder, or a checkpoint file.

    Raises:
        ValueError: no run is named, it cannot be read, or its data has no text, or several vocabularies.
    """

    run: str | None
    joint: bool = field(default=True, init=False)
    special: tuple[str, ...] = field(default=(), init=False)
    lowercase: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.run is None:
            raise ValueError("run must name a run's folder, or a checkpoint: its vocabulary is used")
        object.__setattr__(self, "special", tuple(self._text.special))

    def __repr__(self) -> str:
        """Names the content, not the place: prepared texts are found again by it."""
        return f"OfRun({hashlib.sha256(self._text.tokenizer.encode()).hexdigest()})"

    def build(self, *texts: Iterable[str]) -> tuple[str, ...]:
        """See `Vocabulary`; nothing is trained."""
        return (self._text.tokenizer,) * len(texts)

    def placeholder(self, word: str) -> str:
        """See `Vocabulary`."""
        return self._text.tokenizer

    @cached_property
    def _text(self) -> TextSpec:
        assert self.run is not None  # seen when it was made
        found = {
            one.tokenizer: one
            for one in read_checkpoint(self.run).spec.fields.values()
            if isinstance(one, TextSpec)
        }
        if len(found) != 1:
            raise ValueError(f"run={self.run} must have one vocabulary, it has {len(found)}")
        return next(iter(found.values()))

    def _untrained(self) -> tuple[Tokenizer, trainers.Trainer]:
        raise NotImplementedError("nothing is trained")
