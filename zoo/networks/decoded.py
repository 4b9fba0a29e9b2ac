"""What networks that write text have in common."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from zoo.core.spec import DataSpec, TextSpec


class Decoded(NamedTuple):
    """A teacher-forced pass over T target positions.

    Attributes:
        features: `(B, T, F)`, to be turned into logits.
        queries: `(B, T, H)` of the attention; they do not depend on the samples, so a baseline may use them.
        weights: `(B, T, K)` attention weights; None without attention, or where they are not needed.
        log_prob: `(B, T)` of the samples; None without sampling.
        entropy: `(B, T)` of the sampled distributions; None without sampling.
        probabilities: `(B, T, K)`, the distributions behind hard choices; None where the weights are these
            distributions, or where they are not needed.
        soft_features: computes the features `(B, T, F)` of steps that each, alone, use soft attention,
            without a gradient; None without sampling, or where a network does not support it.
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
        ValueError: one is missing, or tied embeddings meet two vocabularies.
    """
    source, target = spec.text("source"), spec.text("target")
    if tie_embeddings and source.tokenizer != target.tokenizer:
        raise ValueError(
            "tie_embeddings needs one vocabulary for both sides, and this data has two: set "
            "data.tokenizer.joint=true"
        )
    return source, target


def sum_over_layers(parts: Iterable[Tensor | None]) -> Tensor | None:
    """The sum of `(B, T)` tensors, one for each layer; None without sampling."""
    sampled = [part for part in parts if part is not None]
    return torch.stack(sampled).sum(0) if sampled else None
