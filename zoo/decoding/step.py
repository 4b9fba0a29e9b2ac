"""The one interface between a model and a search."""

from collections.abc import Callable
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
"""`(tokens (B, W) int64, state, memory) -> Step`; memory's tensors are `(B, ...)`."""


class Hypothesis(NamedTuple):
    """One decoded sequence.

    Attributes:
        ids: tokens without BOS; ends in EOS when `finished`.
        score: what the search ranked by: log-probability over the length penalty.
        log_prob: sum of the tokens' log-probabilities.
        finished: False when the length limit cut it off.
        weights: `(len(ids), K)` attention weights on the CPU, or None when the model gives none.
    """

    ids: list[int]
    score: float
    log_prob: float
    finished: bool
    weights: Tensor | None = None
