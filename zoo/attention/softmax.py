"""Softmax over the keys that may be attended to.

Half-precision scores are normalised in float32: a bfloat16's eight bits cannot tell 0.501 from 0.5.
"""

import torch
from torch import Tensor

from zoo.kernels.precision import at_least_float32


def masked_softmax(scores: Tensor, keep_mask: Tensor | None = None) -> Tensor:
    """Weights that sum to one over the kept keys: `exp(e_i) / sum_j exp(e_j)`.

    Masked scores, even NaN, change nothing and get weight and gradient zero, exactly; a row that keeps no key
    is all zeros. The smallest finite number stands in for masked scores: with minus infinity such a row would
    be 0/0 in the backward pass too.

    Args:
        scores: `(*lead, Q, K)`.
        keep_mask: boolean, broadcastable to the scores, True = may attend; None = all may.

    Returns:
        `(*lead, Q, K)`, float32 for half-precision scores, else the scores' dtype.
    """
    if keep_mask is None:
        return scores.softmax(-1, at_least_float32(scores))
    blocked = ~keep_mask
    weights = _fill(scores, blocked).softmax(-1, at_least_float32(scores))
    return weights.masked_fill(blocked, 0.0)


def masked_log_softmax(scores: Tensor, keep_mask: Tensor | None = None) -> Tensor:
    """Logarithms of `masked_softmax`: finite everywhere, at masked keys hugely negative.

    A row that keeps no key holds the uniform distribution: only the caller knows what it should mean.
    """
    if keep_mask is not None:
        scores = _fill(scores, ~keep_mask)
    return scores.log_softmax(-1, at_least_float32(scores))


def _fill(scores: Tensor, blocked: Tensor) -> Tensor:
    return scores.masked_fill(blocked, torch.finfo(scores.dtype).min)
