"""The interface between a model and a search."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor


class Step(NamedTuple):
    """One step of W hypotheses for each of B sentences.

    Attributes:
        log_probs: `(B, W, V)`, normalised, float32.
        state: any nesting of tuples, lists, dicts and None around tensors `(B, W, ...)`.
        weights: `(B, W, K)` attention weights, or None.
    """

    log_probs: Tensor
    state: Any
    weights: Tensor | None = None


StepFn = Callable[[Tensor, Any, Any], Step]
"""`(tokens (B, W) int64, state, memory) -> Step`; the memory's tensors are `(B, ...)`."""


class Hypothesis(NamedTuple):
    """One decoded sequence.

    Attributes:
        ids: tokens without BOS; ends in EOS when `finished`.
        score: the search's ranking: log-probability over the length penalty.
        log_prob: sum of the tokens' log-probabilities.
        finished: False when the length limit cut it off.
        weights: `(len(ids), K)` attention weights on the CPU; None of a model without any.
    """

    ids: list[int]
    score: float
    log_prob: float
    finished: bool
    weights: Tensor | None = None


class Search(ABC):
    """Decodes a batch of sentences with any model."""

    @abstractmethod
    def __call__(
        self,
        step: StepFn,
        state: Any,
        memory: Any,
        *,
        bos: int,
        eos: int,
        forbidden: Sequence[int],
        maximum_length: Tensor,
    ) -> list[list[Hypothesis]]:
        """Decodes a batch.

        Args:
            step: the model, in evaluation mode.
            state: tensors `(B, 1, ...)`.
            memory: tensors `(B, ...)`, which every step gets unchanged, for any number of hypotheses.
            bos: the token fed to the first step.
            eos: the token that ends a hypothesis.
            forbidden: tokens that no hypothesis contains.
            maximum_length: `(B,)` on the model's device, most tokens per hypothesis, EOS included.

        Returns:
            For each sentence its hypotheses, finished ones first, then by score.
        """
