"""Softmax over the keys that may be attended to: one rule for every selection, mask and precision.

The weights of a row are `torch.softmax` of its kept scores alone, in float32 (float64 for float64 scores), as
if the masked keys were not there. It follows:

| a row | its weights | gradients of its scores |
| --- | --- | --- |
| keeps no key | zeros | zeros |
| has masked keys, whatever their scores hold, even NaN | zero there, exactly | zero there, exactly |
| has a kept score of minus infinity beside a finite one | zero there | zero there |
| has finite scores, be they the smallest or largest of the dtype | finite, sum to one | finite |
| keeps only scores of minus infinity, or one that is NaN or plus infinity | NaN at kept keys | NaN there |

Half-precision scores become float32 before a temperature divides them: float16 ends at 65,504, and
bfloat16's eight bits cannot tell 0.501 from 0.5. Numbers beyond float32 are infinite.

Fused kernels (`zoo.attention.fused`, `zoo.attention.flexible`) follow the rule with one exception: a row
that keeps only minus infinities reads zeros, since they never store the scores that would reveal it. (Tested
on a CPU; on a GPU they may round scores near the end of float32 to infinity.)
"""

import math

import torch
from torch import Tensor

from zoo.kernels.precision import at_least_float32

_IMPOSSIBLE = -1000.0
"""The smallest log-probability: a lower one is probability 0 in float64, too."""


def masked_softmax(scores: Tensor, keep_mask: Tensor | None = None) -> Tensor:
    """Weights that sum to one over the kept keys, `exp(e_i) / sum_j exp(e_j)`, by the rule of this module.

    Args:
        scores: `(*lead, Q, K)`.
        keep_mask: boolean, broadcastable to the scores, True = may attend; None = all may.

    Returns:
        `(*lead, Q, K)`, float32 for half-precision scores, else the scores' dtype.
    """
    if keep_mask is None:
        return scores.softmax(-1, at_least_float32(scores))
    weights = kept(scores, keep_mask).softmax(-1, at_least_float32(scores))
    return torch.where(keep_mask, weights, 0.0)


def masked_log_softmax(scores: Tensor, keep_mask: Tensor | None = None) -> Tensor:
    """Logarithms of `masked_softmax`, at least -1000, also for masked keys.

    So their product with a weight of zero is zero, never NaN, in gradients too. A row that keeps no key holds
    the uniform distribution.
    """
    if keep_mask is not None:
        scores = kept(scores, keep_mask)
    return scores.log_softmax(-1, at_least_float32(scores)).clamp(min=_IMPOSSIBLE)


def divided(scores: Tensor, temperature: float | Tensor) -> Tensor:
    """`e / τ`, in float32 at least; τ of each head is `(H, 1, 1)`."""
    if not isinstance(temperature, Tensor) and temperature == 1:
        return scores
    return scores.to(at_least_float32(scores)) / temperature


def kept(scores: Tensor, keep_mask: Tensor) -> Tensor:
    """Scores with minus infinity for masked keys, so that a softmax ignores them.

    A row that keeps no key becomes zeros: the softmax of minus infinities alone is 0/0, in the backward pass
    too.
    """
    masked = torch.where(keep_mask.any(-1, keepdim=True), -math.inf, 0.0).to(scores.dtype)
    return torch.where(keep_mask, scores, masked)
