"""What networks that write have in common."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from zoo.core.spec import DataSpec, TextSpec


class Decoded(NamedTuple):
    """A teacher-forced pass over T target positions.

    Attributes:
        features: `(B, T, F)`, to be turned into logits.
        queries: `(B, T, H)`, what attended: known before the reading, so a baseline may see it.
        weights: `(B, T, K)` attention weights; None without attention, or where nobody needs them.
        log_prob: `(B, T)` of sampled readings; None where nothing is sampled.
        entropy: `(B, T)` of the sampled distributions; None where nothing is sampled.
        probabilities: `(B, T, K)`, the distributions behind hard choices; None where the weights say it, or
            where nobody needs them.
        soft_features: computes the features `(B, T, F)` that each step, and it alone, had made of a soft
            reading, without a gradient; None where nothing is sampled, or by networks that cannot.
    """

    features: Tensor
    queries: Tensor
    weights: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None
    probabilities: Tensor | None = None
    soft_features: Callable[[], Tensor] | None = None


def both_sides(spec: DataSpec, *, tie_embeddings: bool) -> tuple[TextSpec, TextSpec]:
    """Source and target of the data.

    Raises:
        ValueError: a text is missing, or they have two vocabularies where one matrix is to serve both.
    """
    source, target = spec.text("source"), spec.text("target")
    if tie_embeddings and source.tokenizer != target.tokenizer:
        raise ValueError(
            "tie_embeddings needs one vocabulary for both sides, and this data has two: set "
            "data.tokenizer.joint=true"
        )
    return source, target
