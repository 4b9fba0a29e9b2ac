"""Softmax over the keys that may be attended to: the one rule for every selection, mask and precision.

The weights of a row are what `torch.softmax` makes of its kept scores alone, in float32 (float64 for float64
scores), as if the masked keys were not there. All else follows from that:

| a row | its weights | gradients of its scores |
| --- | --- | --- |
| keeps no key | zeros | zeros |
| has masked keys, whatever their scores hold, even NaN | zero there, exactly | zero there, exactly |
| has a kept score of minus infinity beside a finite one | zero there | zero there |
| has finite scores, be they the smallest or largest of the dtype | finite, sum to one | finite |
| keeps only scores of minus infinity, or one that is NaN or plus infinity | NaN at kept keys | NaN there |

Half-precision scores are turned into float32 first, before a temperature divides them: float16 ends at
65,504, and a bfloat16's eight bits cannot tell 0.501 from 0.5. What float32 cannot hold is infinite.

Fused kernels (`zoo.attention.fused`, `zoo.attention.flexible`) follow the rule but for one row: of nothing
but minus infinities they read zeros. To find such a row would take the scores that they never write. (Tested
with those of a CPU; those of a GPU may round scores near the end of float32 to infinity.)
"""

import math

import torch
from torch import Tensor

from zoo.kernels.precision import at_least_float32

_IMPOSSIBLE = -1000.0
"""The smallest logarithm of a probability: that of a lower one is 0 in float64, too."""


def masked_softmax(scores: Tensor, keep_mask: Tensor | None = None) -> Tensor:
    """Weights that sum to one over the kept keys: `exp(e_i) / sum_j exp(e_j)`; the rule stands above.

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
    """Logarithms of `masked_softmax`; -1000 stands for all that are smaller, as those of masked keys.

    So the product with a weight of zero is zero and not NaN, whatever gradient comes back to it. A row that
    keeps no key holds the uniform distribution: only the caller knows what it should mean.
    """
    if keep_mask is not None:
        scores = kept(scores, keep_mask)
    return scores.log_softmax(-1, at_least_float32(scores)).clamp(min=_IMPOSSIBLE)


def divided(scores: Tensor, temperature: float) -> Tensor:
    """`e / τ`, in float32 at least."""
    return scores if temperature == 1 else scores.to(at_least_float32(scores)) / temperature


def kept(scores: Tensor, keep_mask: Tensor) -> Tensor:
    """Scores whose softmax over all keys is that over the kept ones: minus infinity stands for masked ones.

    A row that keeps none is zeros instead: of minus infinities alone a softmax is 0/0, in the
    backward pass too, where torch's anomaly detection would find it.
    """
    masked = torch.where(keep_mask.any(-1, keepdim=True), -math.inf, 0.0).to(scores.dtype)
    return torch.where(keep_mask, scores, masked)
